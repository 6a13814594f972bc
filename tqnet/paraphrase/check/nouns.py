"""Nouns by which one thing is called in the two texts of a pair: "students" and "pupils", "nurses" and "people"."""

from __future__ import annotations

from tqnet.text.replacements import WORDINGS

#: What may be said of many a thing or of anybody, as often as its name: "12 nurses work here. 5 of these 12 people".
_ANYTHING = """
one thing item object piece part unit element person people member individual human participant player guest worker
animal bird pet plant tree flower fruit vegetable vehicle toy coin copy
"""
#: What something may be called once, in a sentence that is the same but for that.
_KINDS = """
man woman boy girl lady figure shape body building structure room hall place machine computer device tool instrument
creature insect fish reptile mammal group team set family panel total article product good food meal snack drink
dessert material substance metal liquid gas water mixture blend amount quantity value result answer money rest
remainder other garment top container event race contest musician artist athlete reader rider driver runner cook
specialist professional expert owner winner writer table row line section portion share slot jewel bloom
"""
#: Other names for what word problems count, by the line.
_ALIKE = """
candy sweet lollipop
man gentleman fellow guy
labourer laborer employee workman hand staff
child kid youngster
student pupil learner classmate
baby infant toddler
boy lad son
girl lass daughter
father dad parent
mother mum mom parent
brother sister sibling
grandmother grandma granny
grandfather grandpa
friend pal buddy mate
teacher instructor tutor
doctor physician
shopkeeper seller vendor merchant trader dealer salesman retailer shop store supermarket market
customer buyer client shopper purchaser
passenger traveller traveler rider
runner jogger athlete racer
driver motorist
owner proprietor
visitor tourist spectator
farmer grower
cookie biscuit
bicycle bike
plane airplane aeroplane aircraft
picture photo photograph
stone rock
game match
film movie
car automobile auto
lorry truck van
train locomotive
ship boat vessel ferry
bus coach
rabbit bunny
dog puppy
cat kitten
hen chicken
donkey ass
pen biro
ball sphere
die dice
cup mug glass
dish plate
couch sofa
rug carpet
cupboard closet wardrobe cabinet
rope cord string
ribbon band strip
board plank
pole post rod stick
wire cable
tank cistern reservoir
tap faucet pipe
pool basin
pail bucket
jar pot jug pitcher
bottle flask
basket hamper
case crate
flat apartment
house home
shed hut
lawn yard garden
field plot meadow
road street way route path highway track
trip journey voyage tour ride drive
forest wood
sea ocean
stream river
hill mountain
town city
factory plant works
office company firm business
school college academy
lesson class
test exam examination quiz
mark score point
book novel
notebook exercise pad
page sheet
letter mail
cap hat
jumper sweater pullover
trousers pants
shoe boot
coat jacket
sneaker trainer
mobile phone telephone
sum total addition
side edge
corner vertex
line segment
bookshelf bookcase
carpenter joiner craftsman
lawyer attorney
chef cook
laptop computer
sector section
cyclist rider
bath tub bathtub
pole mast
lake pond
desk table
shirt top
bun roll
loaf bread
chip crisp fry
soda pop cola
price cost charge rate fee amount
wage salary pay income earnings
profit gain
loss deficit
distance length way
speed velocity rate pace
discount reduction rebate
tax duty
loan debt
gift present
holiday vacation
autumn fall
job task work
prize award
garbage rubbish trash
lift elevator
petrol gasoline fuel
note bill
box carton pack packet package parcel
stock share
choice possibility option
bag sack
cent penny
woman lady
number integer
digit figure
question problem
"""
_GENERAL = frozenset(_ANYTHING.split())
_GENERAL_KINDS = frozenset(_KINDS.split())


def _lines() -> dict[str, set[int]]:
    """Noun -> the lines it is on."""
    found: dict[str, set[int]] = {}
    for line, nouns in enumerate(_ALIKE.splitlines()):
        for noun in nouns.split():
            found.setdefault(noun, set()).add(line)
    return found


_LINES = _lines()

#: These may be anybody.
PRONOUNS = frozenset(
    "he him she her it they them i we you that those this one what when if there of 它 他 她".split()  # noqa: SIM905
)


def may_be_the_same(noun: str, other: str) -> bool:
    """Whether two nouns, as lemmas, may stand for the same."""
    if noun in _GENERAL or other in _GENERAL:
        return True
    if _LINES.get(noun, set()) & _LINES.get(other, set()):
        return True
    one, two = WORDINGS.find(noun), WORDINGS.find(other)
    return bool(one and two) and one[0].line == two[0].line


def may_be_called(noun: str, other: str) -> bool:
    """Whether a noun may be told by another one: "the hotel" as "the building"."""
    return may_be_the_same(noun, other) or other in _GENERAL_KINDS
