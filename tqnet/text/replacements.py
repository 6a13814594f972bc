"""Phrases of questions that stand for one another, and phrases that ask or state another thing: one table.

A line of `_OTHERS` has senses, by ``|``, of which each makes another question, and what they are, after ``:``. Within a
sense, and on a line of `_WORDINGS`, phrases stand for one another, by ``,``. What is left out: "and" and "or", or 和 (a
sum, and "and"), 长 (length, and "long"), 商 (a quotient, and trade), whose meaning depends on what is around them; and
left and right, which are often but a point of view. "with" and "is", and 能 and 多, are too common to tell anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tqnet.text.latex import prose

_OTHERS = """
perimeter, circumference | area : what is measured of a plane figure
surface area | volume : what is measured of a solid
radius | diameter : one is twice the other
length | width, breadth : sides of a rectangle
height | base : of a triangle or a solid
sine | cosine | tangent : functions of an angle
maximum, greatest, largest | minimum, least, smallest : ends of a range
longest | shortest : ends of a range
highest | lowest : ends of a range
at least, no less than | at most, no more than : sides of a bound
more than, greater than | less than, fewer than : directions of a comparison
sum | difference | product | quotient : operations
increased, raised, goes up, rises | decreased, reduced, lowered, goes down, falls : directions of a change
increase | decrease, discount : directions of a change
increasing | decreasing : directions of a change
profit, gain | loss : directions of a change
even | odd : parity
parallel | perpendicular : positions of two lines
mean, average | median | mode | range : what is told of data
variance | standard deviation : one is the other squared
arithmetic | geometric : kinds of a progression
with replacement | without replacement : ways to draw
inscribed | circumscribed : circles of a figure
divisor | multiple : directions of divisibility
numerator | denominator : parts of a fraction
slope, gradient | intercept : of a line
vertex | focus : points of a conic
union | intersection : of sets
speed, velocity | acceleration : orders of a derivative
derivative | integral, antiderivative : each undoes the other
downstream | upstream : with or against the current
the same direction | opposite directions : how two move
faster | slower : directions of a comparison
older | younger : directions of a comparison
longer | shorter : directions of a comparison
before | after : order in time
first | last : order
positive | negative : signs
equilateral | isosceles : kinds of a triangle
acute | obtuse : kinds of an angle
complement | supplement : of an angle
interior | exterior : angles of a polygon
rectangle | triangle | circle : figures, each with formulas of its own
cube | sphere | cylinder | cone : solids, each with formulas of its own
permutations | combinations : whether order counts
can be | cannot be : negation
true, correct | false, incorrect, not true : negation
time | distance : what motion is told by
周长 | 面积 : what is measured of a plane figure
表面积 | 体积, 容积 : what is measured of a solid
半径 | 直径 : one is twice the other
正弦 | 余弦 | 正切 : functions of an angle
最大, 最多 | 最小, 最少 : ends of a range
最长 | 最短 : ends of a range
最高 | 最低 : ends of a range
至少, 不少于 | 至多, 不超过 : sides of a bound
大于, 超过 | 小于, 不足 : directions of a comparison
之和 | 之差 | 之积 : operations
增加, 增长, 提高, 上涨 | 减少, 降低, 下降, 下跌 : directions of a change
提价, 涨价 | 降价, 打折 : directions of a change
盈利, 赚, 利润 | 亏损, 亏 : directions of a change
递增, 增函数 | 递减, 减函数 : directions of a change
奇数 | 偶数 : parity
平行 | 垂直 : positions of two lines
平均数, 均值 | 中位数 | 众数 | 极差 : what is told of data
方差 | 标准差 : one is the other squared
等差 | 等比 : kinds of a progression
不放回 | 有放回 : ways to draw
内切圆, 内接 | 外接圆, 外切 : circles of a figure
约数, 因数 | 倍数 : directions of divisibility
最大公约数, 最大公因数 | 最小公倍数 : of two numbers
分子 | 分母 : parts of a fraction
斜率 | 截距 : of a line
顶点 | 焦点 : points of a conic
并集 | 交集 | 补集 : of sets
定义域 | 值域 : of a function
顺水, 顺流 | 逆水, 逆流 : with or against the current
同向而行, 同向 | 相向而行, 相向 | 背向而行, 反向 : how two move
快 | 慢 : directions of a comparison
横坐标 | 纵坐标 : of a point
正数 | 负数 : signs
等边三角形, 正三角形 | 等腰三角形 | 直角三角形 : kinds of a triangle
锐角 | 钝角 : kinds of an angle
余角 | 补角 : of an angle
内角 | 外角 : angles of a polygon
长方形, 矩形 | 三角形 | 正方形 | 圆形 : figures, each with formulas of its own
圆柱 | 圆锥 | 长方体 | 正方体 : solids, each with formulas of its own
排列 | 组合 : whether order counts
正确的 | 错误的, 不正确的 : negation
相等 | 不相等 : negation
时间 | 路程 | 速度 : what motion is told by
单价 | 总价 : price of one and of all
"""

_WORDINGS = """
what is the, find the, determine the, work out the, calculate the
find, determine, work out
calculate, compute, evaluate
given that, it is given that, it is known that, suppose that, we know that, knowing that
given, knowing
equals, is equal to
shall be, should be, must be, is to be, has to be
if you want to, in order to, so as to
you should, one has to, it is necessary to
begins, starts
buys, purchases
bought, purchased
travels, goes, moves
altogether, in total, in all
commodity, article, item
goods, articles, items
such that, so that
figure, diagram, picture
write down, state, give
goes up by, is increased by, is raised by, rises by
goes down by, is decreased by, is reduced by, falls by, is lowered by
students, pupils
student, pupil
shop, store
passes through, goes through
has a length of, is of length
big, large
child, kid
children, kids
car, automobile
needs, requires
original, initial, former
restore, get back to, return to
hence, therefore
for which, for what
Tom, Jack, Ben, Anna, Maria, Lucy, Omar, Wei, Ivan, Lena
求, 试求, 请求出, 求出
计算, 试计算, 算出
已知, 现已知, 已经知道
那么, 则
如果, 若, 假如
一共, 总共, 合计
每个, 每一个
是多少, 等于多少, 为多少
如图所示, 如图, 见图
买, 购买
卖, 出售
商店, 超市, 商场
同学, 学生
下列, 以下, 下面
步行, 走路
需要, 要
原来, 起初
某种商品, 一种商品, 某商品
小明, 小华, 小红, 小军, 小丽, 小刚
"""

#: What may be said and changes nothing: before a question, and behind it. Months, years, ages and points are drawn.
ASIDES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "en": (
        (
            "In {month} {year}, the following was set as homework. ",
            "{name}, who is {age} years old, was given this question in {year}. ",
            "Question {number} ({points} points). ",
            "From a class test of {month} {year}: ",
            "Read the question carefully. ",
            "Please answer the following question. ",
            "{name} and {points} friends are working on this: ",
        ),
        (" (Test of {month} {year}.)", " ({points} points)", " Show your working.", " (Set in {year}.)", " Thank you."),
    ),
    "zh": (
        (
            "{year}年{number}月，老师布置了这样一道题：",
            "（{year}年期中考试）",
            "第{number}题（{points}分）：",
            "{name}今年{age}岁，他在{year}年的作业里看到：",
            "请认真审题。",
            "请解答下题：",
        ),
        ("（{year}年）", "（本题{points}分）", "（写出解题过程）", "请写出过程。", "（{year}年{number}月测验）"),
    ),
}

#: When something is said to have happened, behind a clause of prose.
TIMES = (" in {month} {year}", " in {year}", " on {month} {number}, {year}")

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
NAMES = {
    "en": ("Tom", "Jack", "Anna", "Maria", "Lucy", "Omar", "Wei", "Ivan", "Lena"),
    "zh": ("小明", "小华", "小红", "小军", "小丽", "小刚"),
}


@dataclass(frozen=True, slots=True)
class Phrase:
    """``text[start:end]`` of a text, a phrase of the table.

    Attributes:
        line, sense: Where it stands in the table; phrases of one sense stand for one another.
    """

    start: int
    end: int
    line: int
    sense: int


class Phrases:
    """A table, and where its phrases stand in the prose of a text.

    Attributes:
        lines: Senses of each line, each with its phrases.
        reasons: What the senses of a line are.
    """

    def __init__(self, table: str):
        rows = [row.partition(" : ") for row in table.strip().splitlines()]
        self.lines = [[sense.split(", ") for sense in row[0].split(" | ")] for row in rows]
        self.reasons = [row[2] for row in rows]
        self._places: dict[str, tuple[int, int]] = {}
        for at, senses in enumerate(self.lines):
            for number, phrases in enumerate(senses):
                for phrase in phrases:
                    self._places.setdefault(phrase.lower(), (at, number))
        longest_first = sorted(self._places, key=len, reverse=True)
        words = "|".join(re.escape(phrase) for phrase in longest_first if phrase.isascii())
        signs = "|".join(re.escape(phrase) for phrase in longest_first if not phrase.isascii())
        apart = rf"(?<![\w-])(?:{words})(?![\w-])" if words else ""
        self._pattern = re.compile("|".join(filter(None, (apart, signs))), re.IGNORECASE)

    def find(self, text: str) -> list[Phrase]:
        """Those in the prose of ``text``, the longer of two that overlap."""
        return [
            Phrase(*match.span(), *self._places[match[0].lower()])
            for start, end in prose(text)
            for match in self._pattern.finditer(text, start, end)
        ]


#: Phrases that stand for one another.
WORDINGS = Phrases(_WORDINGS)
#: Phrases with others in whose place another question is asked.
OTHERS = Phrases(_OTHERS)


def as_written(new: str, old: str) -> str:
    """``new`` with a capital where the phrase ``old`` that it replaces has one."""
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
