"""What is named whatever the words around it: other senses, lost qualifiers, what numbers say, about whom is asked."""

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
    ("original", "paraphrase", "named"),
    [
        # other senses, whatever stands around them
        (
            "A barge goes 30 km upstream at 5 km/h. How long is it under way?",
            "At 5 km/h, how much time does a barge take to travel 30 km downstream?",
            "changed word: upstream -> downstream",
        ),
        (
            "Find the compound interest on $900 at 4% for 3 years.",
            "What does $900 bring at 4% of simple interest within 3 years?",
            "changed word: compound interest -> simple interest",
        ),
        (
            "Two buses 90 km apart drive in opposite directions at 40 km/h. How far apart are they after 1 hour?",
            "At 40 km/h two buses, 90 km apart, go in the same direction. What is between them after 1 hour?",
            "changed words: opposite directions -> the same direction, opposite directions -> same direction",
        ),
        (
            "A team of 3 has at least 2 girls. In how many ways can 9 girls form it?",
            "In how many ways do 9 girls make a team of 3 that has exactly 2 girls?",
            "changed word: at least -> exactly",
        ),
        # qualifiers
        (
            "Two consecutive even numbers add up to 26. Find the larger one.",
            "The sum of two even numbers is 26. What is the larger one?",
            "lost word: consecutive",
        ),
        (
            "Ida ate 1/3 of her 60 nuts and sold half of the remaining nuts. How many did she sell?",
            "Of her 60 nuts Ida ate 1/3 and then sold half. How many did she sell?",
            "lost word: remaining",
        ),
        (
            "Ida paid interest for 60 days, then half of the rest of her $90. What was it?",
            "Ida paid interest for 60 days, then half of her $90. What was it?",
            "lost word: rest",
        ),
        # what a number says
        (
            "Leo has 4 times as many stamps as Mia. Both have 60. How many has Mia?",
            "Leo has 4 stamps more than Mia, and both have 60. How many has Mia?",
            "changed number: 4 times -> 4 stamps more",
        ),
        (
            "Six years ago Eva was 10. How old is she?",
            "In six years Eva will be 10. How old is she?",
            "changed number: Six years ago -> In six years",
        ),
        (
            "The rent rose by 20% to $600. What was it?",
            "The rent rose to 20% of what it was, $600. What was it?",
            "changed number: by 20% -> to 20%",
        ),
        (
            "Omar has 20 figs. He has 5 fewer figs than Nina. How many has Nina?",
            "Omar has 20 figs. Nina has 5 fewer figs than Omar. How many has Nina?",
            "changed number: 5 fewer figs than Nina -> 5 fewer figs than Omar",
        ),
        (
            "Lou is 5 years older than Max, who is 9. How old is Lou?",
            "Max is 9, and Lou is 5 years younger than Max. How old is Lou?",
            "changed number: 5 years older than Max -> 5 years younger than Max",
        ),
        (
            "If 6 men dig a ditch in 10 days, how many days do 15 men take?",
            "If 6 men dig a ditch in 10 days, how many men are needed to dig it in 15 days?",
            "changed number: 15 man -> 15 day",
        ),
        (
            "Tom is twice as old as Ann, who is 6. How old is Tom?",
            "Tom is half as old as Ann, who is 6. How old is Tom?",
            "changed number: twice -> half",
        ),
        (
            "Goods are marked 40% above cost. What is $7?",
            "Goods are marked at 60% of the cost. What is $7?",
            "changed number: 40% -> 60%",
        ),
        (  # who is compared cannot be told apart
            "The length of the garden is twice the width of the garden, 6 m. What is its area?",
            "The length of the garden is half the width of the garden, 6 m. What is its area?",
            "changed number: twice -> half",
        ),
        (
            "The price of a cup is twice the price of a pen. A pen is $9. What is a cup?",
            "The price of a cup is half the price of a pen. A pen is $9. What is a cup?",
            "changed number: twice -> half",
        ),
        (
            "Car A is twice as fast as car B. Car B goes 9 km/h. How fast is the other?",
            "Car A is half as fast as car B. Car B goes 9 km/h. How fast is the other?",
            "changed number: twice -> half",
        ),
        (  # what is compared
            "Tom is twice as old as Ann. Ann is 6. How old is Tom?",
            "Ann is half as tall as Tom. Ann is 6. How old is Tom?",
            "changed number: twice -> half",
        ),
        (  # how often
            "Tom is twice as old as Ann and has twice as many pens as Ann. She is 6 and has 9. How many has he?",
            "Ann is half as old as Tom. She is 6 and has 9 pens. How many has he?",
            "lost number: twice",
        ),
        (  # of what it is a percentage
            "The cost rose by 10% to $900. What was it?",
            "The cost was 110% of $900. What was it?",
            "changed number: 10% -> 110%",
        ),
        (
            "Of 50 people, 30% are under 18. How many are?",
            "70% of 50 people are under 18. How many are?",
            "changed number: 30% -> 70%",
        ),
        (
            "Ann, aged 9, saves $5 each time for 3 years. How much does she save?",
            "Ann, aged 9, saves $5 each time, for 3. How much does she save?",
            "lost unit: years",
        ),
        (
            "A six-sided die is rolled 4 times. What is the chance of a 5?",
            "An octahedral die is rolled 4 times. What is the chance of a 5?",
            "lost number: six",
        ),
        (
            "Ann has 5 pens more than Tom has. Tom has 9. How many pens does Ann have",
            "Tom has 9. Ann has 5 pens more than Tom has",
            "the question is missing",
        ),
        (
            "An eight-sided die is rolled. Is it a 7?",
            "A die is rolled. Is it a 7?",
            "lost number: eight",
        ),
        (
            "Pens come in boxes of 6. How many are in 4 boxes?",
            "Pens come in 6 boxes. How many are in 4 boxes?",
            "changed number: boxes of 6 -> 6 boxes",
        ),
        (
            "There are 8 groups of tickets, 56 in all. How many are in each?",
            "Tickets come in groups of 8. How many groups are there of 56?",
            "changed number: 8 groups -> groups of 8",
        ),
        # about whom
        (
            "Ann is twice as old as Ben, who is 8. How old is Ann?",
            "Ben is 8, and Ann is twice as old as Ben. How old is Ben?",
            "changed word: Ann -> Ben",
        ),
        (
            "A and B dig a ditch in 6 days, B alone in 10. In how many days can A do it?",
            "B digs a ditch in 10 days, with the help of A in 6. How many days does B take?",
            "changed word: A -> B",
        ),
        # rates
        (
            "A pool is filled at 5 cubic meters per minute. When are 90 cubic meters in it?",
            "A pool is filled at 5 cubic meters per hour. When are 90 cubic meters in it?",
            "changed unit: minute -> hour",
        ),
        (
            "Sara buys 5 pens at $3 and sells them at $4. What is her total profit?",
            "Sara buys 5 pens at $3 and sells them at $4. What is her total",
            "the question breaks off: What is her total",
        ),
        (
            "A box is twice as long as it is wide. What is its area?",
            "What is the area of a box twice as wide as it is long?",
            "changed number: twice as long as it is wide -> twice as wide as it is long",
        ),
    ],
)
def test_other_relations_are_named_whatever_the_words_around_them(
    original: str, paraphrase: str, named: str, explain: Explain
) -> None:
    assert explain(original, paraphrase) == named


@pytest.mark.parametrize(
    ("original", "paraphrase"),
    [
        (
            "Lou is 5 years older than Max, who is 9. How old is Lou?",
            "Max, 9, is 5 years younger than Lou. How old is Lou?",
        ),
        ("Omar has 5 fewer figs than Nina, who has 9. How many?", "Nina has 9 figs, and 5 more than Omar. How many?"),
        ("At least 2 of 9 girls sing. In how many ways?", "2 or more of 9 girls sing. In how many ways?"),
        ("A length of 6 m is twice the breadth. What is it?", "Twice the width is the length, 6 m. What is it?"),
        ("Two consecutive numbers add up to 27.", "The sum of two successive numbers is 27."),
        ("Ann sold half of the rest of 60 nuts.", "Of 60 nuts, Ann sold half of those that were left."),
        ("Ann is 8 and Ben is 6. How old is Ann?", "Ben is 6 and Ann is 8. What is her age?"),
        (
            "It is 5 times faster than an average press. How fast?",
            "It is five times faster than the average press. How fast?",
        ),
        ("There are 9 more cats than dogs. How many?", "There are 9 more cats than there are dogs. How many?"),
        ("A jar is 3/4 full. How much is left?", "A jar is three quarters full. How much is left?"),
        ("Kim has a third as many as Dan. How many?", "Kim has one third as many as Dan. How many?"),
        ("Sum them. What is the average score?", "Sum them. What is the average?"),
        (
            "Tom is twice as old as Ann. Ann is 6. How old is Tom?",
            "Ann is half as old as Tom. Ann is 6. How old is Tom?",
        ),
        ("Rope A is 4 times as long as rope B.", "Rope B is one fourth as long as rope A."),
        ("Ann has a third as many pens as Tom, 12.", "Tom, 12 pens, has three times as many as Ann."),
        ("Tom is twice as old as Ann. Ann is 6. How old is Tom?", "Ann, 6, is half Tom's age. How old is Tom?"),
        ("Tom weighs three times as much as Ann, 9 kg.", "Ann weighs 9 kg, a third of what Tom weighs."),
        ("Goods are marked 40% above cost. What is $7?", "Goods are marked at 140% of the cost. What is $7?"),
        ("Soda comes in packs of 6. How many are in 4 packs?", "Soda comes in 6-packs. How many are in 4 packs?"),
        ("A pen costs 2 1/2 Rs. What do 9 cost?", "A pen costs 2.5 Rs. What is the cost of 9?"),
        ("Out of 9, Rs. x went to Tom. Find x.", "Rs. x went to Tom out of 9. Find x."),
        ("A die is rolled. Is it a 5?", "A fair six-sided die is rolled. Is it a 5?"),
        ("He has 12 boxes of 6 eggs. How many?", "Each of his 12 boxes has 6 eggs. How many?"),
        # the same in other words, units or spaces
        ("The shorter rope is one-third of the longer, 9 m.", "The shorter rope is a third the longer one, 9 m."),
        (
            "Jo has $90 more. Eve saw a coat and had it for 40$. It is old. Who paid?",
            "Jo has $90 more.Eve had a coat for $40. Who?",
        ),
        (
            "Tea is 12$ at one shop. If she buys 9, each is 1$ off. What is it?",
            "Tea is $12 at one shop. If she buys 9, each is $1 off. What is it?",
        ),
        ("Ten years later it fell to $9. By what?", "A decade later it fell to $9. By what?"),
        ("A quarter kilogram costs $9. What does a ton?", "A quarter of a kilogram costs $9. What does a ton?"),
        ("He keeps doubling 9. What is it?", "He continues to double 9. What is it?"),
        ("He has Rs.450 more. How many?", "He has 450 Rs more.How many?"),
        ("How far are 13 m north and 9 m south?", "How far are 13 metre north and 9 m south?"),
        ("The mean age rose to 30 years. How old is Al, 9?", "The mean age rose to 30. How old is Al, 9?"),
        ("What is the side of 9 cm^2?", "What is the side of 9 cm ^ 2?"),
        ("The sum of 9 and 30 is", "The sum of 9 and 30 gives"),
        # whatever else the words may mean
        ("Ed ran 3 minutes longer than Ann. How long?", "Ed was 3 minutes slower than Ann. How long?"),
        ("He came 3 minutes earlier than Ann. When?", "He was 3 minutes faster than Ann. When?"),
        ("Use exactly 5 coins of 41 cents.", "Use 5 coins that add up to 41 cents."),
        ("What is the height of a 9 m tower?", "How far is it from the base of a 9 m tower to its top?"),
        ("A sum of 200 dollars is for one pen.", "One product, a pen, is for 200 dollars."),
        ("At an average speed, 9 km.", "9 km in total, at one speed."),
        ("An isosceles triangle has AB = AC = 5.", "A triangle has AB = AC = 5."),
        ("It rains on 4 consecutive days.", "It rains 4 days straight."),
        ("Tom gave Ben 9 figs. How many did Tom give?", "Tom gave Ben 9 figs. How many did Ben receive?"),
        ("A jar is a third full. What fits?", "A jar is one third full. What fits?"),
    ],
)
def test_the_same_relation_from_its_other_side(original: str, paraphrase: str, explainer: Explainer) -> None:
    (found,) = explainer.explain([(original, paraphrase)])
    assert not any(one.asks_otherwise for one in found.differences), readable(found.differences)


@pytest.mark.parametrize(
    ("original", "paraphrase", "named"),
    [
        ("圆的半径是5厘米，求它的周长。", "一个半径为5厘米的圆，面积是多少？", "changed word: 周长 -> 面积"),
        (
            "存入900元，年利率3%，按单利计算，2年后利息多少？",
            "900元按复利存2年，年利率3%，利息是多少？",
            "changed word: 单利 -> 复利",
        ),
        ("三个连续自然数的和是42，最大的是多少？", "三个自然数的和是42，最大的是多少？", "lost word: 连续"),
        (
            "爸爸的年龄是小李的4倍，小李9岁，爸爸几岁？",
            "爸爸比小李大4岁，小李9岁，爸爸几岁？",
            "changed number: 4倍 -> 比小李大4",
        ),
        (
            "甲有90本书，比乙多20本。乙有几本？",
            "甲有90本书，乙比甲多20本。乙有几本？",
            "changed number: 比乙多20 -> 比甲多20",
        ),
        ("甲有90本书，比乙多20本。乙有几本？", "乙比甲少20本书，甲有90本。乙有几本？", ""),
        ("4年前他12岁，现在几岁？", "4年后他12岁，现在几岁？", "changed number: 4年前 -> 4年后"),
        ("水管每分钟出水5升，90升要多久？", "水管每小时出水5升，90升要多久？", "changed unit: 每分钟 -> 每小时"),
        ("苹果树120棵，梨树90棵，两种树共多少棵？", "梨树90棵，苹果树120棵，一共多少棵？", ""),
        ("两个数的和是42，求较大的数。", "三个数的和是42，求较大的数。", "lost number: 两; new number: 三"),
        ("8个苹果平均分给两人，每人几个？", "8个苹果平均分给一些人，每人几个？", "lost number: 两"),
        ("单价12元，3支花多少钱？", "每支12元，3支的总价是多少？", ""),
        ("甲比乙长3分钟。", "甲比乙慢3分钟。", ""),
        ("连续4天下雨，每天2毫米。", "一连4天下雨，每天2毫米。", ""),
    ],
)
def test_relations_in_chinese(original: str, paraphrase: str, named: str, explain: Explain) -> None:
    assert explain(original, paraphrase) == named
