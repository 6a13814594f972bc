"""Pairs of which one text tells what the other one does in another way, and pairs that are near and ask otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("spacy")

from tqnet.paraphrase import readable

if TYPE_CHECKING:
    from tqnet.paraphrase.check.explain import Explainer

Explain = Callable[[str, str], str]


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        # multiples, shares and ratios
        ("A is 5 times B. A + B is 36. What is A?", "B is one fifth of A. A + B is 36. What is A?"),
        ("One number is 5 times another. Find it.", "One number is a fifth of another. Find it."),
        ("The first is twice the second. Which is it?", "The second is half the first. Which is it?"),
        (
            "Ann gets twice as many as Bob and Bob gets twice as many as Cal. Who?",
            "Cal's share is half of Bob's, and Bob's is half of Ann's. Who?",
        ),
        (
            "The base of a door is 12 cm and its height is 2/3 of the base. What is its area?",
            "A door has a base of 12 cm, which is one and a half times its height. What is its area?",
        ),
        (
            "A wire is bent to a rectangle whose length is twice its width. What is its area?",
            "A wire is bent to a rectangle half as wide as it is long. What is its area?",
        ),
        ("x is 25% less than z, 80. What is x?", "x is three quarters of z, 80. What is x?"),
        ("Find (3/4 + 1/6) ÷ (11/12).", "Add one sixth to three quarters, then divide by eleven twelfths."),
        (
            "P, Q and R share $72 in the ratio 1/2 : 1/3 : 1/6. Why?",
            "P, Q and R share $72 in the ratio 3 : 2 : 1. Why?",
        ),
        # what somebody has worked out
        ("A box has 3 red and 9 blue pens. Which?", "Twelve pens are in a box, 3 of them red, the others blue. Which?"),
        ("A town grew from 8,000 to 9,200. By what?", "A town had 8,000, and now 1,200 more. By what?"),
        ("Ann read 35 pages and then twice as many. How many?", "Ann read 35 pages and then 70. How many?"),
        (
            "One class has 24 pupils, one 16. Who?",
            "16 pupils are in one class, 24 pupils in one. Who are the forty pupils?",
        ),
        (
            "The sum of three numbers is 78. What is the largest of the three?",
            "Three numbers add up to 78. Which is largest?",
        ),
        # the same amounts, days and things
        ("It took 20 years. How many months is that?", "It took two decades. How many months is that?"),
        ("Pipes fill it in 20 and 30 minutes. When?", "Pipes fill it in a third of an hour and in half an hour. When?"),
        (
            "Ed ate 5 figs on Saturday and 3 on Sunday. Why?",
            "Ed ate 5 figs on Saturday and 3 the next of the two days. Why?",
        ),
        ("Sally had 20 quarters. What are they worth?", "Sally had 20 coins of 25 cents. What are they worth?"),
        ("3 friends share 84 figs. How many has Ann?", "Ann, Bob and Cal share 84 figs. How many has Ann?"),
        ("A die is thrown. Is it a 5?", "A die with six faces is thrown. Is it a 5?"),
        ("Two ships left for Rome at 9 km/h. When?", "One ship left at 9 km/h for Rome, and so did another. When?"),
        (
            "Kim has $90, part at 5% and the rest at 8%. How much at 8%?",
            "Kim has $90 at 5% and 8%. How much at the latter?",
        ),
        # in other words
        ("Each of 5 boys has 3 pens. How many?", "5 boys have 3 pens apiece. How many?"),
        ("Find an even number below 9.", "Find a number below 9 that is divisible by 2."),
        ("Is at least one of 3 coins a head?", "Are not all of 3 coins tails?"),
        ("Five less than twice a number is 17.", "Doubling a number and then taking away 5 gives 17."),
        ("How many more figs than nuts are in 9?", "What is the difference of figs and nuts in 9?"),
        (
            "It costs $20 more than a cap. What does a cap cost?",
            "Its price exceeds that of a cap by $20. What is a cap?",
        ),
    ],
)
def test_what_is_told_in_another_way_is_the_same(original: str, paraphrase: str, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert not any(one.asks_otherwise for one in found.differences), readable(found.differences)


@pytest.mark.parametrize(
    ("original", "paraphrase", "named"),
    [
        # multiples, shares and percentages turned round
        (
            "Ann has 3 times as many figs as Tom. Both have 48. How many has Ann?",
            "Both have 48 figs, and Tom has 3 times as many as Ann. How many has Ann?",
            "changed number: 3 times as many figs as Tom -> 3 times as many as Ann",
        ),
        (
            "x is 20% more than y. What is y if x is 90?",
            "y is 20% less than x. What is y if x is 90?",
            "changed number: 20% more than y -> 20% less than x",
        ),
        (
            "What percent of 80 is 20?",
            "What percentage of 20 is 80?",
            "exchanged number: What percent of 80 is 20 -> What percentage of 20 is 80",
        ),
        # numbers in the places of others
        (
            "Kim mixes 30 kg of rice at $1.20 per kg with 20 kg at $1.70 per kg. What is a kg?",
            "20 kg of rice at $1.20 per kg and 30 kg at $1.70 per kg are mixed by Kim. What is a kg?",
            "exchanged numbers: 30 at 6/5 -> 30 at 17/10, 20 at 17/10 -> 20 at 6/5",
        ),
        (
            "Kim had 14 games. She sold 9 and then added 5. How many has she?",
            "There were 14 games of Kim's. Later, 9 were added after she sold 5. How many has she?",
            "exchanged numbers: 9 sell -> 9 add, 5 add -> 5 sell",
        ),
        (
            "4 apples cost as much as 6 plums. If a plum costs 30 cents, what is an apple?",
            "The price of 4 apples is that of 6 plums. If an apple costs 30 cents, what is a plum?",
            "changed number: plum 30 -> apple 30",
        ),
        # what is done to a number
        (
            "If 27 is added to x, it is 90.",
            "It is 90 if 27 is taken away from x.",
            "changed number: 27 is added -> 27 is taken away",
        ),
        (
            "Twice x decreased by 7 is 15.",
            "When twice x is subtracted from 7, it is 15.",
            "changed number: decreased by 7 -> subtracted from 7",
        ),
        ("Is it less than 3?", "Is it at most 3?", "changed number: less than 3 -> at most 3"),
        (
            "Ann gains 20% on the cost price of $90. How much?",
            "Ann gains 20% of the selling price of $90. How much?",
            "changed number: 20% on the cost -> 20% of the selling",
        ),
        # comparisons that only one text makes
        (
            "A bat costs $20 more than a ball. How much is it?",
            "A bat costs $20. How much is it and a ball?",
            "lost word: 20 more than",
        ),
        (
            "Tom has 9 cats and 5 dogs. How many pets?",
            "Tom has 9 cats and 5 dogs. How many more cats than dogs?",
            "new word: How many more cats than",
        ),
        # qualifiers
        ("Each of 5 boys has 3 pens. How many?", "5 boys have 3 pens. How many?", "lost word: Each"),
        ("Find the odd number next to 9 and 12.", "Find the number next to 9 and 12.", "lost word: odd"),
        (
            "How many codes of 3 digits are there if no digit is repeated?",
            "How many codes of 3 digits can be made?",
            "lost word: no digit is repeated",
        ),
        ("Draw 2 cards without replacement. Which?", "Draw 2 cards. Which?", "lost word: without replacement"),
        # how something moves, and how it is shared
        (
            "A boat goes 24 km downstream in 3 hours. How fast is it?",
            "It takes a boat 3 hours to go 24 km against a stream. How fast is it?",
            "changed word: downstream -> against a stream",
        ),
        (
            "Two share $90 in proportion to their ages. How?",
            "Two share $90 equally, whatever their ages. How?",
            "changed word: in proportion -> equally",
        ),
    ],
)
def test_what_asks_otherwise_is_named(original: str, paraphrase: str, named: str, explain: Explain) -> None:
    assert named in explain(original, paraphrase)


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        # numbers that are by chance the products and sums of others
        ("Each of 5 boxes has 20 pens. How many?", "Each of 5 boxes has 100 pens. How many?"),
        ("A car goes 120 km in 2 hours. How far in 5 hours?", "A car goes 60 km in 2 hours. How far in 5 hours?"),
        ("Ann saved 10% of $500. How much?", "Ann saved 10% of $50. How much?"),
        ("A farm has 40 cows and 10 pigs. How many?", "A farm has 400 cows and 10 pigs. How many?"),
        ("6 pens are $2 each. How much?", "12 pens are $2 each. How much?"),
        ("Ann has 20 figs and gets 5 more. How many?", "Ann has 20 figs and gets 25 more. How many?"),
        ("12 boys and 15 girls are there. How many together?", "27 boys and 15 girls are there. How many together?"),
        (
            "Of 30 pupils 12 are boys, the others girls. How many?",
            "Of 42 pupils 12 are boys, the others girls. How many?",
        ),
        # words that only seem to say a number
        ("Jane has 25 pens and 4 books. How many?", "Jane has a quarter and 4 books. How many?"),
        ("Tom has 2 figs and 5 pears. How many?", "Tom has figs and even 5 pears. How many?"),
        ("He saw Paris, Rome and Bonn in 3 hotels. Where?", "He saw Paris, Rome and Bonn in hotels. Where?"),
        ("Tom has 5 pens. How many is 5 pens more?", "Tom has 5 pens. How many is pens more?"),
        ("Ann has 20 pens and half a dozen books. How many?", "Ann has 20 pens and 120 books. How many?"),
        ("Which numbers to 30 are divisible by 2?", "Which numbers to 30 are not even?"),
        # what is told of others, whatever the words around it
        ("Tom sold 9 games and bought 5 games. How many?", "First Tom bought 9 games and later he sold 5. How many?"),
        ("He sold 9 pens and then he bought 5. How many?", "First he bought 9 pens, later on he sold 5. How many?"),
        ("The ratio of girls to boys is 3:4. How many?", "The ratio of boys to girls is 6:8. How many?"),
        ("Jo adds 7 to a number and gets 12. What is it?", "Jo subtracts 7 from a number and gets 12. What is it?"),
        ("Ann has 5 more pens than Bob, who has 3. How many?", "Ann has 5 pens before Bob, who has 3. How many?"),
        ("Every box has 20 pens. There are 5 boxes. How many?", "The boxes have 20 pens. There are 5 boxes. How many?"),
    ],
)
def test_what_only_seems_to_be_told_is_lost(original: str, paraphrase: str, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert any(one.asks_otherwise for one in found.differences)


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        (
            "Ann borrowed $50 from Ben and lent $20 to Carl. Why?",
            "Ben lent $50 to Ann, and Carl borrowed $20 of her. Why?",
        ),
        (
            "Jan drove 30 of 80 miles. How far is it still?",
            "Jan drove 30 of 80 miles. How many extra miles does she drive?",
        ),
        ("Tickets cost $8 each. Mary has $50. How many?", "The price of tickets is $8. Mary has $50. How many?"),
        ("How many positive factors does 36 have?", "How many factors does 36 have?"),
        ("A ball was dropped from 20 m. When?", "A ball falls from 20 m. When?"),
        ("A pump drains 5 gallons. Why?", "A pump moves 5 gallons. Why?"),
        ("I empty a jar of 20 coins. Why?", "I pour 20 coins from my jar. Why?"),
        ("The ratio of boys to girls is 6:8. Why?", "The ratio of girls to boys is 4:3. Why?"),
        ("The ratio of boys to girls is 0:8. Why?", "The ratio of girls to boys is 8:0. Why?"),
        ("She reads 4 pages and then twenty five times as many. Why?", "She reads 4 pages and then 100. Why?"),
        ("Which numbers to 30 have a factor of 2?", "Which numbers to 30 are even?"),
        ("He rose at half past ſix. When?", "He rose at 6:30. When?"),
        ("The girl is Ann. The girl ate 5 plums. Why?", "The girl is Ann. Ann ate 5 plums. Why?"),
        ("Tom is 5 years older than Ann. How old?", "Ann was born 5 years after Tom. How old?"),
    ],
)
def test_other_words_alone_are_no_other_question(original: str, paraphrase: str, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert not any(one.asks_otherwise for one in found.differences), readable(found.differences)
