"""Probability, counting and samples."""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from .draw import Draw
from .knowledge import CHANCE, COUNTING, DRAWS, SAMPLES
from .registry import Ask, Draft, group, pose
from .values import plain


@group(SAMPLES, level=3)
def capture_recapture(r: Draw) -> Draft:
    """The share in a sample estimates the share in the whole."""
    marked, hits, times = r.num(3, 10) * 10, r.num(2, 8), r.num(5, 15)
    sample, whole = hits * times, marked * times
    return pose(
        r,
        [
            "<marked> fish of a lake are marked and set free. Later <hits> of <sample> caught fish carry a "
            "mark. Estimate how many "
            "fish live in the lake.",
            "为估计鱼塘中鱼的数量，先捞出 <marked> 条做标记后放回，再捞出 <sample> 条，其中 <hits> 条有标记，"
            "估计塘中有多少条鱼？",
            "<who> adds <marked> black beans to a jar of white ones and mixes well. A handful of <sample> "
            "beans holds <hits> black "
            "ones. About how many beans are in the jar now?",
            "袋中有若干白球，放入 <marked> 个红球搅匀，随机摸出 <sample> 个，有 <hits> 个红球，"
            "估计袋中现有多少个球？",
            Ask("In a random sample of <sample> bulbs, <hits> were faulty. How many faulty ones are to be "
                "expected among <whole>?",
                marked, lambda v: Fraction(v, whole) == Fraction(hits, sample)),
        ],
        answer=whole,
        check=lambda v: Fraction(marked) / Fraction(v) == Fraction(hits, sample),
        work=("Equal shares:", "比例相等：", r"$\frac{<hits>}{<sample>}=\frac{<marked>}{<whole>}$"),
        marked=marked, hits=hits, sample=sample, whole=whole,
    )  # fmt: skip


@group(CHANCE, level=1)
def one_draw(r: Draw) -> Draft:
    """Favourable over possible."""
    a, b, c = r.num(2, 8), r.num(2, 8), r.num(1, 6)
    total = a + b + c
    chance, none = plain(Fraction(a, total)), plain(Fraction(b + c, total))
    return pose(
        r,
        [
            "A bag holds <a> red, <b> blue and <c> green marbles. One is taken blindly. What is the "
            "probability that it is red?",
            "袋中有 <a> 个红球、<b> 个白球和 <c> 个黑球，任意摸出一个，摸到红球的概率是______。",
            Ask("A spinner has <total> equal fields: <a> win a bike, <b> a pen, the rest nothing. With what "
                "probability does <who> "
                "not win the bike?", none, lambda v: (1 - v) * total == a),
            "抽签箱里有 <total> 支签，其中 <a> 支一等奖，<who>随意抽一支，抽中一等奖的概率是多少？",
            "Of <total> raffle tickets in a drum, <a> give a prize. <who> draws the first ticket. How likely "
            "is a prize?",
        ],
        answer=chance,
        check=lambda v: v * total == a,
        work=("Favourable over possible:", "有利结果数除以总数：", r"$\frac{<a>}{<total>}$"),
        choice=0.0, a=a, b=b, c=c, total=total,
    )  # fmt: skip


@group(DRAWS, level=3)
def two_without_return(r: Draw) -> Draft:
    """Multiply along the branches; the second draw finds one thing fewer."""
    a, b = r.num(3, 7), r.num(2, 6)
    n = a + b
    chance = plain(Fraction(a * (a - 1), n * (n - 1)))
    return pose(
        r,
        [
            "From <a> red and <b> blue balls two are taken one after the other and not put back. <Find> the "
            "probability of two reds.",
            "口袋里有 <a> 个红球和 <b> 个蓝球，不放回地依次摸出两个，都是红球的概率是多少？",
            "A team of <a> girls and <b> boys draws lots for captain and deputy. How likely is it that girls "
            "get both posts?",
            "从 <a> 名男生、<b> 名女生中任选两人参加比赛，<求>两人都是男生的概率。",
            "<who> grabs two socks in the dark from a drawer with <a> black and <b> white single socks. What "
            "is the chance of a black "
            "pair?",
        ],
        answer=chance,
        check=lambda v: v * comb(n, 2) == comb(a, 2),
        work=("Multiply along the branch:", "分步相乘：", r"$\frac{<a>}{<n>}\times\frac{<a1>}{<n1>}$"),
        choice=0.0, a=a, b=b, n=n, a1=a - 1, n1=n - 1,
    )  # fmt: skip


@group(DRAWS, level=4)
def at_least_once(r: Draw) -> Draft:
    """The complement: one minus the probability of never."""
    p, n = Fraction(*r.pick((1, 2), (1, 3), (1, 6), (1, 4), (2, 3), (1, 5), (3, 4))), r.num(2, 3)
    chance = plain(1 - (1 - p) ** n)
    return pose(
        r,
        [
            "A shot hits with probability $<p>$. <n> shots are fired independently. How likely is at least "
            "one hit?",
            "某射手每次命中的概率为 $<p>$，独立射击 <n> 次，至少命中一次的概率是多少？",
            "Each of <n> alarm clocks rings with probability $<p>$, whatever the others do. <Find> the "
            "probability that not all of "
            "them stay silent.",
            "<n> 台机器各自独立工作，每台需要维修的概率均为 $<p>$，<求>至少有一台需要维修的概率。",
            "<who> plays a game <n> times and wins each time with probability $<p>$. What is the probability "
            "of winning one or more "
            "times?",
        ],
        answer=chance,
        check=lambda v: 1 - v == (1 - p) ** n,
        work=("Take the complement:", "用对立事件：", r"$1-\left(1-<p>\right)^{<n>}$"),
        choice=0.0, p=p, n=n,
    )  # fmt: skip


@group(COUNTING, level=3)
def pairs(r: Draw) -> Draft:
    """Each pair is counted twice if one goes through all members."""
    n = r.num(5, 16)
    count = comb(n, 2)
    return pose(
        r,
        [
            "<n> people meet and everybody shakes hands with everybody else once. How many handshakes are "
            "there?",
            "<n> 支球队进行单循环比赛（每两队赛一场），共要比赛多少场？",
            Ask("Every two teams of a league play once, <count> games in all. How many teams are there?", n,
                lambda v: v * (v - 1) == 2 * count),
            "平面上有 <n> 个点，任意三点不共线，过其中任意两点画直线，共可画多少条？",
            r"In how many ways can 2 of <n> books be chosen as a present?",
        ],
        answer=count,
        check=lambda v: 2 * v == n * (n - 1),
        work=("Each pair counts once:", "每一对只计一次：", r"$\frac{<n>\times(<n>-1)}{2}=<count>$"),
        wrong=(n * (n - 1), n * n),
        n=n, count=count,
    )  # fmt: skip


@group(COUNTING, level=3)
def arrangements(r: Draw) -> Draft:
    """Orders in a row where some must stand together: glue them to one."""
    n = r.num(4, 7)
    free, glued = factorial(n), 2 * factorial(n - 1)
    return pose(
        r,
        [
            "<n> friends line up for a photo; <who> and <other> want to stand side by side. How many orders "
            "are possible?",
            "<n> 名同学站成一排照相，其中甲、乙两人必须相邻，共有多少种站法？",
            "How many ways are there to put <n> different books on a shelf if the two novels among them must "
            "not be parted?",
            "把 <n> 盆不同的花摆成一排，红花与黄花要挨在一起，有多少种摆法？",
            Ask("<n> speakers draw up a programme in which the two guests never follow each other directly. "
                "How many programmes are "
                "there?", free - glued, lambda v: v + 2 * factorial(n - 1) == factorial(n)),
        ],
        answer=glued,
        check=lambda v: v == 2 * factorial(n) // n,
        work=("Glue the pair into one:", "捆绑法：", r"$2\times(<n>-1)!=<glued>$"),
        wrong=(free,),
        n=n, glued=glued,
    )  # fmt: skip
