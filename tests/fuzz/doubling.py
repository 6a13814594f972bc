"""Whether time grows linearly: functions that read a stranger's text, and texts of any length that may slow them.

A text is a fragment again and again, two fragments in turn, one after another, or one that opens something followed by
many of the other. It is linear if a doubling takes less than three times as long, at a length where that can be told.
"""

from __future__ import annotations

import gc
import math
import random
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.importers import word
from tests.importers.generators import moodle_question, moodle_quiz, qti2_item
from tqnet.augment.pairs import make_variant
from tqnet.augment.strategies import STRATEGIES
from tqnet.augment.surface import change_surface
from tqnet.importers.choices import option_places, split_options
from tqnet.importers.figures import FigureFolder
from tqnet.importers.formats import reader
from tqnet.importers.job import Job, Settings
from tqnet.importers.source import open_source
from tqnet.importers.texts import looks_like
from tqnet.questions import Question
from tqnet.questions.markup import text_html
from tqnet.questions.near_duplicates import folded_tokens, normal_text
from tqnet.questions.traits import one_form, traits
from tqnet.search.background import latin_words
from tqnet.search.known import differences
from tqnet.text.equations import parse_equation
from tqnet.text.formulas import join_units, units
from tqnet.text.latex import parse_formulas, prose
from tqnet.text.normal import normal_formula
from tqnet.text.notations import as_html, without_marks
from tqnet.text.plain import plain, plain_texts, protect
from tqnet.text.sentences import halves, readable, search_words
from tqnet.text.typed import with_formulas
from tqnet.text.vocabulary import fold, spell

#: Takes a text and returns what is timed.
Entry = Callable[[str], Callable[[], object]]


def _timed(function: Callable[[str], object]) -> Entry:
    return lambda text: partial(function, text)


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="tqnet-fuzz-"))


def _imported(format: str, file: str, write: Callable[[str], str] = str, settings: Settings | None = None) -> Entry:
    """Import a source of one document."""

    def entry(text: str) -> Callable[[], object]:
        path = _folder() / file
        path.write_text(write(text), encoding="utf-8", errors="replace")
        return lambda: list(
            reader(format)(Job(open_source(path), FigureFolder(_folder() / "figures"), settings or Settings()))
        )

    return entry


def _document(block: Callable[[str], str]) -> Entry:
    """Import a Word document of one block."""

    def entry(text: str) -> Callable[[], object]:
        path = word.write_docx(_folder() / "paper.docx", word.paragraph("1. Which?"), block(in_xml(text)))
        return lambda: list(reader("docx")(Job(open_source(path), FigureFolder(_folder() / "figures"))))

    return entry


def in_xml(text: str) -> str:
    """Escape a text for XML, without the signs that XML may not have."""
    allowed = re.compile(r"[\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
    return escape("".join(allowed.findall(text)))


def _augmented(question: Question) -> None:
    for strategy in (*STRATEGIES.values(), change_surface, make_variant):
        strategy(question, np.random.default_rng(0))


def _compared(text: str) -> Callable[[], object]:
    from tqnet.paraphrase.check.compare import compare
    from tqnet.paraphrase.problem import Parser

    first, second = Parser().parse([text, f"{text[:-3]} 7"])
    return lambda: compare(first, second)


def _question(text: str) -> Question:
    return Question(id="q", stem=text, language="en")


ENTRIES: dict[str, Entry] = {
    "plain texts": _timed(lambda text: plain_texts([text])),
    "HTML": _timed(plain),
    "protection": _timed(lambda text: protect([text])),
    "MathML": _timed(lambda text: plain(f"<math>{text}</math>")),
    "HTML for a page": _timed(text_html),
    "search words": _timed(search_words),
    "readable": _timed(readable),
    "halves": _timed(halves),
    "LaTeX": _timed(parse_formulas.__wrapped__),
    "Markdown": _timed(lambda text: without_marks(as_html(text, None))),
    "prose": _timed(prose.__wrapped__),
    "units": _timed(lambda text: join_units(units(text))),
    "normal form": _timed(normal_formula),
    "typed formulas": _timed(with_formulas),
    "spelling out": _timed(spell),
    "folding": _timed(fold),
    "equations": _timed(parse_equation),
    "traits": _timed(lambda text: traits(_question(text))),
    "one form": _timed(one_form),
    "near duplicates": _timed(lambda text: (normal_text(text), folded_tokens(text))),
    "differences": _timed(lambda text: differences(_question(text), _question(f"{text[:-3]}7"))),
    "Latin words": _timed(lambda text: list(latin_words(text))),
    "augmentation": _timed(lambda text: _augmented(_question(text))),
    "formats of texts": _timed(looks_like),
    "options in a text": _timed(split_options),
    "answers": _timed(lambda text: option_places(text, ["3", "4", text])),
    "GIFT": _imported("gift", "quiz.gift"),
    "GIFT, answers": _imported("gift", "quiz.gift", "Which? {{=a ~{}}}".format),
    "Aiken": _imported("aiken", "quiz.txt"),
    "exam": _imported("exam", "exam.tex"),
    "exam, a choice": _imported("exam", "exam.tex", "\\question a\n\\choice {}".format),
    "a paper": _imported("text", "paper.txt"),
    "a paper, an option": _imported("text", "paper.txt", "1. a\nA. b\nB. {}".format),
    "Moodle": _imported(
        "moodle", "quiz.xml", lambda text: moodle_quiz(moodle_question("essay", text.replace("]]>", "")))
    ),
    "Moodle, cloze": _imported(
        "moodle", "quiz.xml", lambda text: moodle_quiz(moodle_question("cloze", text.replace("]]>", "")))
    ),
    "Moodle, XML": _imported("moodle", "quiz.xml", "<quiz><question type='essay'>{}</question></quiz>".format),
    "QTI": _imported("qti", "item.xml", lambda text: qti2_item("a", f"<p>{in_xml(text)}</p>")),
    "QTI, XML": _imported("qti", "item.xml", partial(qti2_item, "a")),
    "CSV": _imported("csv", "bank.csv"),
    "CSV, a cell": _imported(
        "csv", "bank.csv", lambda text: 'stem,options,answer\n"{0}","{0}","{0}"\n'.format(text.replace('"', '""'))
    ),
    "CSV, columns": _imported("csv", "bank.csv", "stem,{0}\n?,{0}\n".format),
    "JSON": _imported("json", "bank.json"),
    "DOCX": _document(word.paragraph),
    "DOCX, formula": _document(lambda text: word.paragraph(f"<m:oMath>{word.mrun(text)}</m:oMath>")),
    "paraphrase check": _compared,
}

_LATEX = r"""
\( \) \[ \] $ $$ $x $5 $1$ \begin{a} \begin{array} \end{array} \begin{align} \frac \frac{ \sqrt \sqrt[ \sqrt{ \text{
\left( \right) \left \over \overline{ \displaystyle \\ \{ \ { } [ ] ( ) ^ _ x^ x_ ^{ _{ x^{ {,} & % ~ # \frac{1}{
\label[ \question[ \question \choice \section{ \begin{parts} \begin{tabular} \documentclass[ \begin{verbatim} \hline
\multicolumn{ \[x dx d/dx \int \angle \circ
"""
_MARKUP = """
< </ <a <p <p> </p> <b <! <? <!-- --> <![if <![CDATA[ ]]> <svg> <svg <script> <style> <pre> <sub> <li> <td> <option>
<math> <mrow> <mi>x</mi> <mo>(</mo> <msup> <table> <ul> <select> <span> <span> <div> <img> a<b>c &lt; & &# «math «math»
[tex] {mlang ![ ![]( ![](< *a **a _a ` data:image/png;base64, <m:r> <question> <text> [[1]] {1:MC: {1:NUMERICAL:=
"""
_PROSE = """
a A 1 1. 1, 000, x, x= 1/ 1/x - + = | / . , : ; ? ! ' " @ :: {= {~ -> #### %50% // // 中 中文， 。 ____ ½ √ ² x² ± ∠ ∫
ﬃ ﷺ ℃ ① A. A) (A) 1-B ANSWER: Answer: 答案 一、 ☐ i) 1-A, sin lim two twenty- e.g. 1st Tom dollars per
"""
_SPACED = [
    *("\n", " ", "\t", "\x00", "\u0301", "\u200b", "<a b=", "<svg ", "$a $", "s i n ", ". A", "the ", "1 2 ", "1/2 "),
    *("a b ", "a<b ", "$ ", "\n1. ", "\nA. ", "\n\n", "\n//", "\nANSWER: A\n", "\\item ", "5 km ", "Tom has 5 pens. "),
    *("How many? ", "If x, then y. ", "中文 ", "<span class='math'>", "{mlang en}", "«math »", "$5 or ", "{1:MC:=a~b}"),
]
FRAGMENTS = [*dict.fromkeys([*_LATEX.split(), *_MARKUP.split(), *_PROSE.split(), *_SPACED])]


class Kind(NamedTuple):
    """A kind of text: an opening, ``first`` for half of its length and ``second`` for the rest, and an end."""

    first: str
    second: str = ""
    opening: str = ""
    end: str = ""

    def text(self, length: int) -> str:
        parts = [part for part in (self.first, self.second) if part]
        return self.opening + "".join(part * (length // len(parts) // len(part)) for part in parts) + self.end


def plain_kinds() -> Iterator[Kind]:
    """Yield each fragment by itself, and as a formula."""
    for fragment in FRAGMENTS:
        yield Kind(fragment)
        yield Kind(fragment, "", "$", "$")


def mixed_kinds(chance: random.Random) -> Iterator[Kind]:
    """Yield kinds of two fragments without an end."""
    while True:
        first, second, opening = chance.sample(FRAGMENTS, 3)
        form = chance.randrange(5)
        yield (
            Kind(first + second),
            Kind(first, second),
            Kind(first + second, "", opening),
            Kind(first, "", opening, second),
            Kind(f"${first}{second}$"),
        )[form]


#: Functions of training alone whose time is that of the length times the depth of groups, which have no limit.
BY_DEPTH = frozenset({"augmentation"})


def may_be_deep(kind: Kind) -> bool:
    """Return whether groups of a kind of text lie within each other, as some are never closed."""
    text = kind.first * 2 + kind.second * 2
    return any(text.count(opening) > text.count(closing) for opening, closing in ("{}", "()", "[]"))


#: A growth from which a length four times as great counts as more than linear: a doubling takes 2.8 times as long.
_MOST_QUADRUPLED = 8.0
#: Seconds: less cannot be measured; more is enough to be sure, and more than nested groups can take, whose reading ends
#: at a thousand of them.
_LEAST, _MOST = 0.02, 4.0
#: Seconds after which a call is not waited for.
_ENDLESS = 20.0


def is_linear(entry: Entry, kind: Kind, length: int) -> bool:
    """Return whether the time that a function takes grows linearly with a kind of text.

    The first two measurements clear nearly all kinds. What remains is measured again, three times at each length, and
    the last one repeatedly, as a busy machine has a coarse clock, until it grows linearly or is long enough to be sure.
    """
    short, long = (seconds(entry, kind.text(n)) for n in (length, 4 * length))
    if long < _LEAST or long < _MOST_QUADRUPLED * short:
        return True
    for attempt, factor in enumerate((2, 2, 2, 2, 2, 2, 1, 1, 1)):
        length *= factor
        # Never the same text again, which some functions cache: a long one would be a short one two doublings later.
        cuts = [64 * (3 * attempt + i + 1) for i in range(3)]
        short, long = (min(seconds(entry, kind.text(n - cut)) for cut in cuts) for n in (length, 4 * length))
        if long < _MOST_QUADRUPLED * short:
            return True
        if long > _MOST:
            break
    return False


def seconds(entry: Entry, text: str) -> float:
    """Return the processor time of a call, up to what it raises; infinite if it does not end, or memory does."""
    run = entry(text)
    signal.signal(signal.SIGVTALRM, _ended)
    signal.setitimer(signal.ITIMER_VIRTUAL, _ENDLESS)
    gc.disable()
    begun = time.process_time()
    try:
        run()
    except (_Endless, MemoryError):
        return math.inf
    except (ValueError, RecursionError):
        pass
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - begun


class _Endless(BaseException):
    """Passes through ``except Exception`` in what is timed."""


def _ended(*_: object) -> None:
    raise _Endless


def usual_length(entry: Entry, wanted: float = 0.004) -> int:
    """Return the length of a usual text that takes about so many seconds, in steps of a factor of two."""
    usual = Kind("Find $x^2$ if <b>Tom</b> has 5 pens, 中文。\n")
    length = 500
    seconds(entry, usual.text(length))  # what is loaded at the first call
    while length < 32_000 and seconds(entry, usual.text(length)) < wanted:
        length *= 2
    return length


def super_linear(name: str, kinds: Iterable[Kind]) -> Iterator[Kind]:
    """Yield the kinds of which an entry of `ENTRIES` is not linear."""
    entry = ENTRIES[name]
    length = usual_length(entry)
    for kind in kinds:
        if not (name in BY_DEPTH and may_be_deep(kind)) and not is_linear(entry, kind, length):
            yield kind
