"""Nouns by which one thing is called in the two texts of a pair: "students" and "pupils", "nurses" and "people"."""

from __future__ import annotations

from tqnet.text.replacements import WORDINGS

#: What may be said of many a thing or of anybody, as often as its name: "12 nurses work here. 5 of these 12 people".
_ANYTHING = """
one thing item object piece part unit element person people member individual human participant player guest worker
animal bird pet plant tree flower fruit vegetable vehicle toy coin copy group team set total article good
drink beverage snack food meal dessert sweet treat tool instrument device machine container place shape body
liquid gas metal material substance blend amount quantity value result answer money rest remainder other
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
case crate chest
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
lesson class course
test exam examination quiz
mark score point grade
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
recipe batch
pie cake tart
bun roll
loaf bread
lizard reptile
chip crisp fry
soda pop cola
tin can
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
seat chair place
garbage rubbish trash
lift elevator
petrol gasoline fuel gas
note bill
box carton pack packet package parcel
stock share
choice possibility option
brick stone
bag sack
cent penny
woman lady
number integer
digit figure
question problem
"""
_GENERAL = frozenset(_ANYTHING.split())
_LINES = [set(line.split()) for line in _ALIKE.splitlines()]

#: These may be anybody.
PRONOUNS = frozenset(
    "he him she her it they them i we you that those this one what when if there of 它 他 她".split()  # noqa: SIM905
)


def may_be_the_same(noun: str, other: str) -> bool:
    """Whether two nouns, as lemmas, may stand for the same."""
    if noun in _GENERAL or other in _GENERAL:
        return True
    if any({noun, other} <= line for line in _LINES):
        return True
    one, two = WORDINGS.find(noun), WORDINGS.find(other)
    return bool(one and two) and one[0].line == two[0].line
