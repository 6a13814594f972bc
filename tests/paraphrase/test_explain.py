"""What is named of a paraphrase, in the manner of ParaQD's Table 3, on sentences of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase import Change, Difference, Part, readable

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer

Explain = Callable[[str, str], str]

WALK = "Nora walked 12 km in 3 hours. How many metres did she walk in an hour?"
CRATE = "A crate of 40 oranges is shared by 8 teachers. How many oranges does each teacher get?"


@pytest.mark.parametrize(
    ("original", "paraphrase", "named"),
    [
        (WALK, "Nora walked some km in 3 hours. How many metres did she walk in an hour?", "lost number: 12"),
        (WALK, "Nora walked in 3 hours. How many metres did she walk in an hour?", "lost number: 12; lost unit: km"),
        (WALK, "Nora walked 14 km in 3 hours. How many metres did she walk in an hour?", "changed number: 12 -> 14"),
        (
            WALK,
            "In 5 hours Nora walked 14 km. How many metres did she walk in an hour?",
            "changed numbers: 12 -> 14, 3 -> 5",
        ),
        (WALK, "Nora walked 12 miles in 3 hours. How many metres in an hour is that?", "changed unit: km -> miles"),
        (WALK, "Nora walked 12 km in 3 hours. How many feet did she walk in an hour?", "changed unit: metres -> feet"),
        (
            "A plank is 25 inches long, a rod 4 feet. How long are both?",
            "A plank is 25 feet long, a rod 4 inches. How long are both?",
            "changed units: inches -> feet, feet -> inches",
        ),
        (
            "Ben has 6 pens and Ida has 6 rulers. How many things have they?",
            "Ben has 6 pens and Ida has some rulers. How many things have they?",
            "lost number: 6 (1 of 2 mentions)",
        ),
        (WALK, "Nora walked 12 km in 3 hours.", "lost unit: metres; the question is missing"),
        (
            CRATE,
            "A crate of 40 oranges is shared by 8 teachers. How many oranges?",
            "lost word: does each teacher get; words that the question lost: teacher",
        ),
        (
            "A cat makes 3 jumps for 4 of a dog. Compare their heights.",
            "A cat makes 3 jumps for 4 of a dog.",
            "lost sentence: Compare their heights.",
        ),
        (WALK, "She walked 12 km in 3 hours. How many metres did she walk in an hour?", "lost entity: Nora"),
        (
            "Karim bought 9 stamps. A clerk then sold him 4 more envelopes. How many stamps are left?",
            "Karim bought 9 stamps. How many stamps are left?",
            "lost number: 4; lost sentence: A clerk then sold him 4 more envelopes.",
        ),
        (
            "Solve $x^2 + 3x = 10$ for $x$.",
            "Find $x$ such that $x^2+3x=12$.",
            "changed formula: $x^2 + 3x = 10$ -> $x^2+3x=12$",
        ),
        (
            CRATE,
            "40 lemons in a crate are shared by 8 teachers. How many oranges does each teacher get?",
            "inconsistent entity: oranges -> lemons, but not everywhere",
        ),
        (
            "A bus takes 25% of 80 people. How many are they?",
            "A bus takes 25 of 80 people. How many are they?",
            "changed number: 25% -> 25",
        ),
        (
            "A car costs $900. How much are two cars?",
            "A car costs €900. How much are two cars?",
            "changed unit: $ -> €",
        ),
        (
            "Sugar and flour are mixed 3:4. How much sugar is in 14 kg?",
            "Sugar and flour are mixed 4:3. How much sugar is in 14 kg?",
            "exchanged numbers: 3 -> 4, 4 -> 3",
        ),
        (
            "Ann has 3 pens. Ben has five pens. How many have both?",
            "Ben has 3 pens. Ann has 5 pens. What do they have together?",
            "exchanged numbers: 3 -> 5, five -> 3",
        ),
        (
            "Tom gave 5 apples to Ann. Tom had 12 apples. How many are left?",
            "Ann gave 5 apples to Tom. Tom had 12 apples. How many are left?",
            "exchanged words: Tom -> Ann, Ann -> Tom",
        ),
        (
            "A field is 8 m by 5 m. What is its area?",
            "A field is 8 m by 5 m. What is its perimeter?",
            "changed word: area -> perimeter",
        ),
        ("Find x if 3x = 21.", "Find x if 4x = 21.", "changed number: 3 -> 4"),
        (
            "A film lasts 2 hours. Which one?",
            "A film lasts 100 minutes. Which one?",
            "changed number: 2 -> 100; changed unit: hours -> minutes",
        ),
        (
            "It begins at 9:30 am. When does it end?",
            "It begins at 9:30 pm. When does it end?",
            "changed number: 9:30 am -> 9:30 pm",
        ),
        (
            "Ida buys 3 lemons and 7 onions. What does she pay?",
            "Seven lemons and three onions are bought by Ida. What does she pay?",
            "exchanged numbers: 3 lemon -> 3 onion, 7 onion -> 7 lemon",
        ),
        # words by which the original tells a number too, in another place
        ("These 5 books cost $20. What is one?", "These 7 books cost $20. What is one?", "changed number: 5 -> 7"),
        ("Tom and Ann have 2 cats. Are both dry?", "Tom and Ann have cats. Are both dry?", "lost number: 2"),
        ("Ann has 0 pens and no cups. Why?", "Ann has pens and no cups. Why?", "lost number: 0"),
        ("Find the mean of 40, 55, 60 and 90.", "Find the mean of 40 to 90.", "lost numbers: 55, 60"),
        ("Find 1 + 3 + 5 + ... + 99.", "Find the sum from 1 to 99.", "lost numbers: 3, 5"),
        (
            "6 cups and 6 plates are on shelves. Why?",
            "6 cups are on shelves and tables by plates. Why?",
            "lost number: 6 (1 of 2 mentions)",
        ),
        ("20% of 50 g is salt. How much?", "20% of 50 g is salt at 80% cost. How much?", "new number: 80%"),
        ("A class costs 1/2 of $50. How much?", "A seminar costs a part of $50. How much?", "lost number: 1/2"),
        ("Ed ate 1/2 of a halved pie. How much?", "Ed ate some of a halved pie. How much?", "lost number: 1/2"),
        ("It was -5 degrees. How cold?", "It was 5 degrees. How cold?", "changed number: -5 -> 5"),
        ("Add 1, 2, 3, 4 and 5.", "Add 1, 2, 4 and 5.", "lost number: 3"),
        ("Add 1, 2, 3, 4 and 5.", "Add 1, 2, 3 and 5.", "lost number: 4"),
        # what an amount is told for one of
        (
            "Ida gets $15 per hour, 8 hours a day. How much?",
            "Ida gets $15 per day, 8 hours a day. How much?",
            "changed unit: hour -> day",
        ),
        (
            "It goes 60 km/h for 3 hours. How far?",
            "It goes 60 km/min for 3 hours. How far?",
            "changed unit: km/h -> km/min",
        ),
        # ratios
        (
            "The ratio of boys to girls is 3:4. There are 28 girls. How many boys?",
            "If girls and boys are in the ratio 3 to 4, how many boys are there beside 28 girls?",
            "exchanged number: 3 boys, 4 girls -> 4 boys, 3 girls",
        ),
        # opposites
        (
            "Let n be greater than 6. What is n?",
            "Let n be less than 6. What is n?",
            "changed number: greater than 6 -> less than 6",
        ),
        ("Solve x² − 5x + 6 = 0 for x.", "Solve x² + 5x + 6 = 0 for x.", "changed word: − -> +"),
        (
            "If a is 20% more than b, is b 20% less than a?",
            "If a is 20% less than b, is b 20% more than a?",
            "changed words: more -> less, less -> more",
        ),
        (
            "Two pipes leak. The second is shut. Why?",
            "Two pipes leak. The first is shut. Why?",
            "changed word: second -> first",
        ),
        (
            "The length is increased by 25 m and the width reduced by 20 m. What is the area?",
            "The length is raised by 20 m; the width has decreased by 25 m. What is the area?",
            "exchanged numbers: 25 up -> 25 down, 20 down -> 20 up",
        ),
        # nothing was done but to leave words out
        (
            "A team of 3 is chosen from 9. How many teams are there if Ann must be chosen?",
            "A team of 3 is chosen from 9. How many teams are there?",
            "lost entity: Ann; lost word: if Ann must be chosen; words that the question lost: Ann chosen",
        ),
        (
            "Tom has 5 figs and gave some to Ann. Now he has 3. How many did Ann get?",
            "Tom has 5 figs. Now he has 3. How many did Ann get?",
            "lost word: and gave some to Ann",
        ),
        ("Which of 3, 4 and 5 is not prime?", "Which of 3, 4 and 5 is prime?", "lost word: not"),
        # a question that is not over
        (
            "If x + y = 10, what is the value of xy?",
            "If x + y = 10, what is the value of",
            "the question breaks off: If x + y = 10, what is the value of",
        ),
        (
            "Ann has 5 figs. How many figs does she need?",
            "Ann has 5 figs. How many figs does she",
            "the question breaks off: How many figs does she",
        ),
        ("Ann has 5 figs. How many more are hers?", "Ann has 5. What is the", "the question breaks off: What is the"),
        # somebody of whom nothing is told
    ],
)
def test_what_is_lost_or_changed_is_named(original: str, paraphrase: str, named: str, explain: Explain) -> None:
    assert explain(original, paraphrase) == named


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        (WALK, "Nora walked twelve kilometres in three hrs. How many meters did she walk in one hour?"),
        (WALK, "nora walked 12 km in 3 hours. how many metres did she walk in an hour?"),
        (WALK, "In 3 hours, Nora has walked 12 km. Find the metres that she walked per hour."),
        (CRATE, "8 teachers share a crate of 40 oranges. How many oranges does each of the teachers get?"),
        (
            "A tank holds 1,500 litres. Half of it is used. How much is left?",
            "50% of a 1500 L tank is used. How much is left?",
        ),
        (
            "A train runs at 60 km/h for 2 hours. How far?",
            "For two hours, a train runs at 60 kilometres an hour. How far?",
        ),
        (
            "She eats 5 of 20 figs. What share of the 20 figs is that?",
            "Of 20 figs she eats 5. Which part of them is that?",
        ),
        ("Let $x=3$. Find $x + 1$.", "If x = 3, what is $x+1$?"),
        ("A pen costs $5.25. What do 4 cost?", "A pen is five dollars and twenty-five cents. What do 4 cost?"),
        ("A shirt is Rs. 80. How much are 3?", "A shirt is Rupees 80. How much are 3?"),
        ("Which of {1, 2} is chosen more often?", "Which of { 1, 2 } is chosen more often?"),
        ("Why?", "Why not?"),
        ("A box has 5 red pens and 2 blue pens. How many?", "How many are 5 red pens and 2 blue ones?"),
        ("Of 5 figs, 2 are ripe. How many are not?", "2 of 5 figs are ripe. How many are not?"),
        ("Ida buys 3 lemons and 7 onions. What does she pay?", "Ida buys 7 onions and 3 lemons. What does she pay?"),
        ("Boys to girls are 3:4. How many of 14 are boys?", "Girls to boys are 4:3. How many of 14 are boys?"),
        ("A pen is 3 dollars. A pen is 5 dollars. Which?", "A pen is 5 dollars. A pen is 3 dollars. Which?"),
        # amounts in other units
        ("It lasts 1.5 hours. When does it end?", "It lasts 90 minutes. When does it end?"),
        ("It lasts an hour and a half. When is it over?", "It lasts 1 hour 30 minutes. When is it over?"),
        ("Ed runs 30 minutes a day. How far in a week?", "Ed runs half an hour a day. How far in 7 days?"),
        ("A pen costs 25 cents. How much are 8?", "A pen costs $0.25. How much are 8?"),
        ("A cube has 27 in³. How long is its edge?", "A cube has 27 cubic inches. How long is its edge?"),
        ("It takes a fortnight. How many weeks are 2?", "It takes two weeks. How many weeks are 2?"),
        ("A cap is £5. What do 3 cost?", "A cap is 5 pounds. What do 3 cost?"),
        ("It runs 5 km. How long does it run?", "It runs 5 km. How many hours does it run?"),
        # numbers in other words
        ("Ann eats \u00bd of it. How much is left?", "Ann eats 1/2 of it. How much is left?"),
        ("Ann has 2\u00bd cups. How many pints are 3?", "Ann has 2.5 cups. How many pints are 3?"),
        ("At 8:30 am it begins. When does it end?", "At half past eight in the morning it begins. When does it end?"),
        ("It ends at 3:00 pm. When did it begin?", "It ends at 3 p.m. When did it begin?"),
        ("Two dice are rolled. What is the sum?", "A pair of dice is rolled. What is the sum?"),
        ("Two pipes A and B fill a tub. How long does it take?", "Pipes A and B fill a tub. How long does it take?"),
        ("Ann has 4 cats and Tom has 4 dogs. How many?", "Ann has 4 cats and Tom the same number of dogs. How many?"),
        ("A bag has 5 red pens and 3 blue pens. Which?", "A bag has 8 pens, 5 red pens and 3 blue pens. Which?"),
        ("Find x if 3x = 21.", "Find x if three times x is 21."),
        ("A class has 20 students. 5 students sing. Who?", "A class has 20 pupils. 5 students sing. Who?"),
        ("Two trains meet. Both run. Where?", "A pair of trains meet. Both run. Where?"),
        ("Two numbers add up to 10. What are both numbers?", "What are both numbers that add up to 10?"),
        ("Find the mean of 72, 85 and 91.", "The points are 72, 85 and 91. What is the mean of these three?"),
        (
            "Points of 72,85,91 and 60 are given. What is the mean?",
            "Four points are 72,85,91 and 60. What is the mean?",
        ),
        (
            "Sums of 1,200, 85 and 60 are paid. What is the mean?",
            "Three sums, 1,200, 85 and 60, are paid. What is the mean?",
        ),
        ("It costs Rs.1,620 for Rs. 80. Why?", "It costs Rs. 1620 for Rs.80. Why?"),
        ("If 40% of x is 20, what is x?", "If 0.4x = 20, what is x?"),
        ("Of 50 men 60% sing. How many do not?", "Of 50 men 60% sing and 40% do not. How many do not?"),
        ("Find the sum of 1, 2, 3, 4 and 5.", "Find the sum of the numbers from 1 to 5."),
        ("Find the sum of 1 to 100.", "Add up 1 + 2 + 3 + ... + 100."),
        ("It was -5 °C. How warm is it?", "It was minus 5 °C. How warm is it?"),
        ("It was -5 degrees. How warm is it?", "It was 5 degrees below zero. How warm is it?"),
        ("It rose by 10% and fell by 10%. By how much?", "It first rose, then fell by 10% each. By how much?"),
        ("It rises by 10% and falls by 10%. By how much?", "It rises and then falls by 10%. By how much?"),
        ("He is 5 ft 8 in tall. How tall is that?", "He is 5'8\" tall. How tall is that?"),
        ("A coin of 50 p is lost. Which?", "A coin of 50 paise is lost. Which?"),
        ("If a = 90° and b = 35°, what is c?", "What is c if a is 90 degrees and b = 35°?"),
        ("Ann gets $15 per hour. How much in 2 hours?", "Ann gets $15 for each hour. How much in 2 hours?"),
        ("Pens to cups are 3:4. How many cups?", "The ratio of cups to pens is 4:3. How many cups?"),
        ("There are 9 kids. 3 children sing. How many kids do not?", "3 of 9 youngsters sing. How many kids do not?"),
        ("Is 91 prime or not?", "Is 91 prime?"),
        ("A third of 60 pupils sing. How many do?", "1 in 3 of 60 pupils sings. How many do?"),
        ("We have p/q = 3/4 and q = 8. Find p.", "Let q be 8, and p : q = 3 : 4. Find p."),
        ("3 out of every 5 of 60 pupils sing. How many do?", "60% of 60 pupils sing. How many do?"),
        ("It pays 5% half-yearly. How much?", "It pays 5% semiannually. How much?"),
        ("It rose by 5%, then fell by 3%. By how much?", "After 5% up it fell by 3%. By how much?"),
        ("Ed has 5 figs. How many figs are left?", "Ed has 5 figs. How many figs are left"),
        # on either side of "and"
        ("Find x + y and x - y if x = 5.", "Find x - y and x + y if x = 5."),
        ("Tom and Ann have 5 cats. What are they called?", "Ann and Tom have 5 cats. What are they called?"),
        ("Tom has 5 cats. Ann has 5 cats. Who has more?", "Tom has 5 cats. Ann also has 5 cats. Who has more?"),
        ("What is x if x + 1 = 3?", "Give the number that is 3 when 1 is added to it."),
    ],
)
def test_what_is_written_otherwise_is_not_lost(original: str, paraphrase: str, explain: Explain) -> None:
    assert explain(original, paraphrase) == ""


@pytest.mark.parametrize(
    ("original", "paraphrase", "named"),
    [
        (
            WALK,
            "Olga walked 12 km in 3 hours. How many metres did Olga walk in an hour?",
            "renamed entity: Nora -> Olga",
        ),
        (
            CRATE,
            "40 lemons in a crate are shared by 8 teachers. How many lemons does each teacher get?",
            "renamed entity: oranges -> lemons",
        ),
        (
            "Maya drives from Paris to Rome in 14 hours. How long does Maya drive in a day?",
            "Elena drives from Madrid to Rome in 14 hours. How long does Elena drive in a day?",
            "renamed entities: Maya -> Elena, Paris -> Madrid",
        ),
    ],
)
def test_a_name_that_is_another_one_everywhere_is_no_loss(
    original: str, paraphrase: str, named: str, explainer: Explainer
) -> None:
    differences = explainer.explain([(original, paraphrase)])[0].differences
    assert readable(differences) == named
    assert all(one.is_harmless for one in differences)


def test_differences_as_data(explainer: Explainer) -> None:
    (found,) = explainer.explain([(WALK, "Nora walked 12 miles in hours. How many metres did she walk in an hour?")])
    assert found.differences == (
        Difference(Part.NUMBER, Change.LOST, before="3"),
        Difference(Part.UNIT, Change.CHANGED, before="km", after="miles"),
    )
    assert found.differences[1].to_dict() == {"part": "unit", "change": "changed", "before": "km", "after": "miles"}
    assert found.note == ""


@pytest.mark.parametrize(
    ("original", "paraphrase", "otherwise"),
    [
        ("What is $\\frac{3}{4}$ of 84?", "Find three quarters of 84.", False),
        ("Compute $\\frac{3}{5} \\times 20$.", "What is $\\frac35 \\cdot 20$?", False),
        ("Find $x$ if $0.5x = 4$.", "Find $x$ if $\\frac{1}{2}x = 4$.", False),
        ("Find $x$ if $2x + 5 = 17$.", "Find $x$ if $2x + 5 = 19$.", True),
        (
            "Ed is 9 years old. How old is Al, 2 years older?",
            "Ed is 9. Al is two years older. What is Al's age?",
            False,
        ),
        (
            "Samantha has 5 pens. Samantha has 2 cups. How many?",
            "Sam has 5 pens. Samantha has 2 cups. How many?",
            False,
        ),
        ("Kim had $50 and spent $18. How much is left?", "Kim had $50 and spent $18.", True),
        ("Kim had $50 and spent $18. How much is left?", "Kim had $50 and spent $18. How much is", False),
        ("Kim had $50 and spent $18. What is the rest?", "Kim had $50 and spent $18. What is the", True),
        ("Kim got $50. Kim's brother got $2. Why?", "Kim got $50. His brother Lee got $2. Why?", False),
        ("Tom has 5 figs and buys 3 more. How many has he in all?", "Tom has 5 figs and buys 3 more. How many?", False),
        (
            "Tom has 5 figs from when he saw all his aunts. How many are 3 more?",
            "Tom has 5 figs. How many are 3 more?",
            False,
        ),
        (
            "How many ways are there to seat 5 boys so that two boys meet?",
            "How many ways are there to seat 5 boys?",
            True,
        ),
        ("Which city does Ann, aged 25, live in now?", "Which city does Ann, aged 25, live in?", False),
    ],
)
def test_what_is_certain(original: str, paraphrase: str, otherwise: bool, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert any(one.asks_otherwise for one in found.differences) is otherwise, readable(found.differences)
