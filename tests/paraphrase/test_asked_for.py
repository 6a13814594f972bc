"""Questions that ask for something else, and what goes up or down, by pairs that are reworded throughout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase import readable

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer


@pytest.mark.parametrize(
    ("original", "paraphrase", "named"),
    [
        # what is asked for
        (
            "Of 72 vehicles 17 are motorbikes and the rest are cars. How many cars are there?",
            "In a car park 17 of 72 vehicles are motorbikes, the others cars. How many motorbikes are in the car park?",
            "changed question: how many: car -> how many: motorbike",
        ),
        (
            "A father is 4 times as old as his daughter. How old is the father if both are 40?",
            "A dad's age is four times that of his daughter. What is the daughter's age if both are 40?",
            "changed question: the age of father -> the age of daughter",
        ),
        (
            "A yard is 45 m by 28 m. How many meters of fence enclose it?",
            "A yard measures 28 m by 45 m. How much ground does it cover?",
            "changed question: enclose -> cover",
        ),
        (
            "A loan of $500 is at 6% for 3 years. How much interest is due?",
            "For 3 years $500 are lent at 6%. What total sum is to be paid?",
            "changed question: interest -> total sum",
        ),
        (
            "A lesson of 35 minutes ended at 5:20 p.m. At what time did it begin?",
            "A lesson began at 5:20 p.m. and took 35 minutes. When did it end?",
            "changed question: begin -> end",
        ),
        (
            "An oak is 21 m and a bush 3 m tall. How many times as tall as the bush is the oak?",
            "The height of a bush is 3 m, of an oak 21 m. By how many meters is the oak taller?",
            "changed question: how many times as -> by how many",
        ),
        (
            "One of 52 cards is drawn. What is the probability that it is neither a king nor a spade?",
            "Somebody draws one of 52 cards. How likely is it to be a king or a spade?",
            "changed question: not king -> king",
        ),
        # the question itself
        (
            "He sold 58 of 96 muffins and gave away 21. How many muffins were left?",
            "Of the 96 muffins 58 were sold, and 21 given away.",
            "the question is missing",
        ),
        (
            "He had 36 points in 11 games and then made 60. What is his average?",
            "In 11 games he had made 36 points before he made 60. What is",
            "the question breaks off: What is",
        ),
        # directions and sides
        (
            "Selling it for $276, a dealer gained 15% on its cost. What was that?",
            "A dealer sold it for $276 and took a 15% loss on its cost. What was that?",
            "changed number: 15% up -> 15% down",
        ),
        (
            "A club of 225 people fell by 12%. How many are there?",
            "A club that had 225 members saw these grow by 12%. How many are there?",
            "changed number: 12% down -> 12% up",
        ),
        (
            "Tom has 46 nuts. Ida has 18 more than he has. How many are there?",
            "Ida has 18 fewer nuts than Tom, who has 46. How many are there?",
            "changed number: 18 more -> 18 fewer",
        ),
        (
            "An express train is 20 km/h faster than a local train. How far does it go in 6 hours?",
            "A local train goes 20 km/h faster than an express train. How far does it go in 6 hours?",
            "changed number: 20 km/h faster -> 20 km/h faster",
        ),
        # what a number says
        (
            "A coat of $160 is sold at 35% off. What does one pay?",
            "One pays 35% of the price of a coat, $160. What is that?",
            "changed number: 35% off -> pays 35% of",
        ),
        (
            "Rohan got 40% more points than Sita, who got 65. How many did he get?",
            "Sita got 65 points and Rohan 40% of hers. How many did he get?",
            "changed number: 40% more -> 40% of",
        ),
        (
            "Three bars weigh 450 grams each. What is their weight?",
            "Three bars weigh 450 grams altogether. What is the weight of three?",
            "changed number: 450 grams each -> 450 grams altogether",
        ),
        (
            "The average of the pay of 5 clerks is $2,100. What is that of six?",
            "Five clerks have a total pay of $2,100. What has each of six?",
            "changed number: average of the pay of 5 clerks is $2,100 -> total pay of $2,100",
        ),
        (
            "Each row has 2 seats more. How many are in the 15th row?",
            "Each row has 2 seats more. How many are in the first 15 rows?",
            "changed number: 15th -> first 15",
        ),
        (
            "The number doubles each day. It is 4 now. What is it on Friday?",
            "It is 4 now, and each day the number triples. On Friday it is how much?",
            "changed word: doubles -> triples",
        ),
        (
            "All but 9 of 42 eggs broke. How many omelettes of 3 eggs do the others make?",
            "Of 42 eggs 9 broke. From the others omelettes of 3 eggs are made. How many?",
            "lost word: All but",
        ),
        # places of numbers
        (
            "Iris put $4,000 and Jonas put $10,000 into a truck. What is Iris's share of $21,000?",
            "Jonas invested $4,000 in a truck and Iris invested $10,000. If $21,000 are shared, what does Iris get?",
            "exchanged numbers: 4000 iris -> 4000 jonas, 10000 jonas -> 10000 iris",
        ),
        (
            "A ticket costs $10 for an adult and $6 for a child. How many of 340 were for children?",
            "Tickets cost $6 for adults and $10 for children. Of 340, how many were for children?",
            "exchanged numbers: 10 for adult -> 10 for child, 6 for child -> 6 for adult",
        ),
        (
            "Mugs cost $3 and posters cost $5. Theo buys 14 for $54. How many posters?",
            "Theo buys 14 things for $54, posters at $3 and mugs at $5. How many posters?",
            "exchanged numbers: 3 for mug -> 3 for poster, 5 for poster -> 5 for mug",
        ),
        (
            "A chemist mixes 6 l of a 20% solution with 9 l of a 35% solution. What is it?",
            "9 l of 20% solution are mixed with 6 l of 35% solution. What is it?",
            "exchanged numbers: 6 at 1/5 -> 6 at 7/20, 9 at 7/20 -> 9 at 1/5",
        ),
        (
            "A price went from $80 to $92. What was the change?",
            "What was the change of a price that went from $92 to $80?",
            "exchanged number: from 80, 92 -> from 92, 80",
        ),
        (
            "She added 6 and then multiplied by 3, and got 51. What was it?",
            "It was multiplied by 3, then 6 was added, which gave 51. What was it?",
            "exchanged number: first 6, 3 -> first 3, 6",
        ),
        (
            "Ann is twice as old as she was 10 years ago. How old is Ann?",
            "10 years ago, Ann was twice as old as she is now. How old is Ann?",
            "changed number: twice as old as she was -> twice as old as she is",
        ),
        (
            "Tom has 5 keys and meets Ann at 8:00. When does he leave?",
            "Tom has 5 keys and meets Ann 3 hours later. When does he leave?",
            "changed number: 8:00 -> 3; new unit: hours",
        ),
        (
            "How many students did not pass the exam if 20 of 50 passed?",
            "How many students passed if 20 of 50 passed?",
            "changed question: not pass -> pass",
        ),
        (
            "A rectangle is 4 m by 5 m. What is its area?",
            "A rectangle is 4 m by 5 m. How long is the fence around the land?",
            "changed question: area -> fence",
        ),
        (
            "A car starts at 8 am. Two hours later a bus starts. At 10 am a truck does. How far is it behind?",
            "A car starts at 8 am. Later a bus starts. At 10 am a truck does. How far is it behind?",
            "lost number: Two; lost unit: hours",
        ),
        (
            "A ship has about 3 men aboard and leaves at 6:00. Two hours later it lands. When?",
            "A ship has about 3 men aboard and leaves at 6:00. At 5:00 it lands. When?",
            "changed number: Two -> 5:00; lost unit: hours",
        ),
    ],
)
def test_other_questions_are_named(original: str, paraphrase: str, named: str, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert readable([one for one in found.differences if one.asks_otherwise]) == named


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        # what is asked for in other words
        ("Of 9 pens 4 are red. How many of the pens are not red?", "4 of 9 pens are red. How many others are there?"),
        (
            "It is one of 7 red, 5 blue and 8 green pens. What is the probability that it is not blue?",
            "One of 5 blue, 8 green and 7 red pens is drawn. How likely is it to be red or green?",
        ),
        (
            "How many 3-digit numbers have the digits 1 to 5 if no digit is repeated?",
            "Using digits from 1 to 5, each at most once, how many three-digit numbers are there?",
        ),
        (
            "Tim left home at 7:25 a.m. and arrived at 8:10 a.m. How long was he on the way?",
            "If Tim set out from home at 7:25 in the morning and was there at 8:10, how much time was he on the way?",
        ),
        (
            "A play cost $8 for adults and $5 for children. How many of 200 tickets were children's tickets?",
            "At $5 for children and $8 for adults, how many of 200 tickets to a play were for children?",
        ),
        (
            "Tim has not read 60 of 90 pages. How many has he not read?",
            "How many of 90 pages, 60 left, must he still read?",
        ),
        ("A battery dropped 40% from 50. What has it?", "A phone used up 40% of its battery of 50. What has it?"),
        ("A is 9, B is 3. How many times as big as B is A?", "By how many times does A, 9, exceed B, 3?"),
        # from the other side
        ("Ida has 18 more nuts than Tom. How many is that?", "Tom has 18 fewer nuts than Ida. How many is that?"),
        (
            "The number of boys is 5 more than the number of girls. Why?",
            "The number of girls is 5 less than the number of boys. Why?",
        ),
        (
            "Six years ago, Ed was half as old as he will be in 9 years. How old is he?",
            "In 9 years, Ed will be twice as old as he was six years ago. How old is he?",
        ),
        (
            "Five notebooks cost as much as three folders of $3. What is a notebook?",
            "A folder is $3, and three folders cost the same as five notebooks. What is a notebook?",
        ),
        # what the other text need not tell
        ("The surface of a cube is 150. What is its volume?", "The six faces of a cube have 150. What is its volume?"),
        (
            "Two of 12 balls are drawn without replacement. Are both red?",
            "Of 12 balls two are drawn, and the first isn't put back. Are both red?",
        ),
        (
            "One light flashes every 12 seconds and another every 18. When do they?",
            "Two lights, one flashing every 18 seconds and one every 12, flash. When do they?",
        ),
        (
            "A bus leaves at 8:00 a.m. at 50 mph. A car leaves at 9:00 a.m. at 70 mph. When do they meet?",
            "At 8 a.m. a bus leaves at 50 miles per hour. One hour later, a car leaves at 70. When do they meet?",
        ),
        (
            "Three partners, Ms. Lind, Mr. Tan and Mr. Abar, put in $6 each. What is that?",
            "Ms. Lind, Mr. Tan and Mr. Abar put in $6 each. What is that?",
        ),
        (
            "A bag has 3 red and 5 blue balls. What is the probability of not drawing red?",
            "A bag has 3 red and 5 blue balls. What is the chance that the drawn ball is blue?",
        ),
        (
            "A garden is 5 m by 8 m. A fence runs around it. What is the area of the garden?",
            "A garden is 5 m by 8 m. How much land does the fence around it enclose?",
        ),
        (
            "A park is a square of side 50 m. Find its area.",
            "A park is a square of side 50 m. How many square metres lie within its border?",
        ),
        (
            "A shop sold 5 on Monday and 6 on Tuesday. How many had it sold by the end?",
            "A shop sold 5 on Monday and 6 on Tuesday. How many has it sold since the start?",
        ),
        (
            "$500 is put at 5% simple interest for 2 years. How much interest is earned?",
            "$500 is put at 5% simple interest for 2 years. What is the total amount of money that it earns?",
        ),
        (
            "A loan of $500 is at 5% simple interest for 2 years. How much interest is paid?",
            "A loan of $500 is at 5% simple interest for 2 years. How much more than what was borrowed is paid back?",
        ),
        (
            "Bob is 40. His son Tim is 30 years younger. How old is Tim?",
            "Bob is 40. His son Tim is 30 years younger. How old is his son?",
        ),
        (
            "Ann runs 3 km, then 5 km. How far does she run?",
            "Ann runs 5 km next, after 3 km. How far does she run?",
        ),
        (
            "Tom has 12 coins, then gets 5. How many has he?",
            "Tom gets 5 coins, then adds them to the 12 that he has. How many has he?",
        ),
        (
            "The sum of two consecutive numbers is 15. Find them.",
            "The sum of a number and one more than it is 15. Find both.",
        ),
        (
            "How many even numbers are below 20?",
            "How many numbers below 20 can be halved without remainder?",
        ),
        (
            "A film starts at 3 pm and ends at 5 pm. How long does it last?",
            "A film starts at 3 pm and ends two hours later. How long does it last?",
        ),
        (
            "What is the volume of a box of 2 cm by 3 cm by 4 cm?",
            "A box measures 2 cm by 3 cm by 4 cm. How much space is inside the box?",
        ),
        ("A film starts at 3:40 p.m. When is it over?", "When is a film over that begins at twenty to four?"),
    ],
)
def test_the_same_question_is_not_blamed(original: str, paraphrase: str, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert not any(one.asks_otherwise for one in found.differences), readable(found.differences)
