"""Named entities of a question: people, places, organisations, weekdays, months; no numbers, no points of a figure.

A small model takes many a first name for an organisation or a product, or for nothing. In a word problem, a proper noun
of one word that does or owns something is somebody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from spacy.tokens import Doc, Span

from tqnet.augment.variables import points_of_figures
from tqnet.paraphrase.spans import Covered
from tqnet.text.formulas import formula_character_spans
from tqnet.text.replacements import MONTHS

# Names by category, of which one may stand in the place of another (ParaQD, f7).


_FIRST_NAMES = """
    Aaron, Abigail, Ahmed, Alice, Amina, Andrew, Anita, Arjun, Bella, Boris, Carla, Chen, Chloe, Claire, Daniel, Diego,
    Elena, Elias, Emma, Farid, Fatima, Felix, Fiona, George, Grace, Hannah, Hassan, Helen, Henry, Ines, Irene, Isaac,
    Jacob, Jamal, Julia, Karim, Kavya, Kenji, Laura, Leo, Liam, Lina, Lucas, Maya, Mei, Miguel, Mohan, Nadia, Nina,
    Noah, Olga, Oliver, Oscar, Paula, Pedro, Priya, Rahul, Rosa, Ruth, Samuel, Sara, Simon, Sofia, Tariq, Teresa,
    Tobias, Uma, Victor, Wanda, Yusuf, Zoe
"""
_SURNAMES = """
    Adams, Ahmed, Baker, Brown, Campbell, Chen, Costa, Davies, Evans, Fischer, Garcia, Gupta, Hughes, Ivanov, Johnson,
    Kim, Kumar, Lopez, Martin, Miller, Murphy, Nguyen, Okafor, Patel, Robinson, Rossi, Silva, Smith, Tanaka, Walker
"""
_BY_LABEL = {
    "PERSON": _FIRST_NAMES,
    "GPE": """
        London, Paris, Berlin, Madrid, Rome, Delhi, Mumbai, Chicago, Boston, Toronto, Sydney, Tokyo, Cairo, Nairobi,
        Lima, Denver, Seattle, Texas, Ohio, Kenya, Brazil, Canada, France, Spain, India, Japan, Mexico, Egypt
    """,
    "LOC": """
        Lake Victoria, Lake Geneva, the Alps, the Andes, the Nile, the Amazon, the Rhine, the Danube, the Sahara, Asia,
        Africa, Europe, the Pacific
    """,
    "FAC": """
        Central Station, Victoria Bridge, Heathrow Airport, King Street, Oak Avenue, Riverside Mall, Market Hall,
        Memorial Stadium, Highway 9, Park Road
    """,
    "ORG": """
        Acme, Bluebird Books, Corner Market, Green Valley School, Harbour Bank, Lakeside College, Northern Mills,
        Oakwood Academy, Pine Hill Bakery, Silver Star Motors, Sunrise Foods, the City Council, Westfield Library
    """,
    "NORP": """
        American, British, Canadian, Chinese, Dutch, Egyptian, French, German, Greek, Indian, Italian, Japanese,
        Mexican, Polish, Spanish, Swedish
    """,
    "LANGUAGE": "English, French, German, Hindi, Italian, Japanese, Latin, Portuguese, Russian, Spanish, Turkish",
    "PRODUCT": "Aurora, Comet, Falcon, Meteor, Nimbus, Pioneer, Rocket, Swift, Vista",
    "EVENT": "Easter, Christmas, Thanksgiving, Diwali, Halloween, the Olympics, New Year, the World Cup",
    "WORK_OF_ART": "Hamlet, Moby Dick, Peter Pan, Robinson Crusoe, Snow White, The Jungle Book, Treasure Island",
    "MONTH": ", ".join(MONTHS),
    "WEEKDAY": "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday",
}

#: Label -> names. The labels are spaCy's, with WEEKDAY and MONTH for dates that are but one of these.
NAMES: dict[str, tuple[str, ...]] = {
    label: tuple(" ".join(names.split()).split(", ")) for label, names in _BY_LABEL.items()
}
#: Behind "Mr.", "Dr." and the like.
SURNAMES = tuple(" ".join(_SURNAMES.split()).split(", "))


@dataclass(frozen=True, slots=True)
class Entity:
    """``text[start:end]``, a name.

    Attributes:
        name: As it stands there, without an article or 's.
        label: spaCy's, or WEEKDAY or MONTH: a key of `tqnet.paraphrase.names.NAMES`.
        count: How often the text names it.
    """

    start: int
    end: int
    name: str
    label: str
    count: int


_PLACES = frozenset((*NAMES["GPE"], *NAMES["LOC"], *NAMES["WEEKDAY"], *NAMES["MONTH"], *NAMES["EVENT"]))
_ARTICLE = re.compile(r"(?:the|a|an)\s+", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\s?['’]s?$")
_LABEL = re.compile(r"[A-Z]{1,5}|[A-Z](?:['′]|\d)?")
#: Short names in capitals that are no labels.
_ACRONYMS = frozenset(("US", "UK", "UN", "EU", "USA", "UAE", "LA", "NY", "NYC", "DC", "IBM", "BMW", "TV", "NASA"))
_VERBS = "find calculate determine compute evaluate solve express estimate simplify assume suppose"
#: With a capital at the beginning of a sentence, they are taken for names.
_DEMANDS = frozenset(_VERBS.split())


#: What a first name may be taken for.
_MISTAKEN = frozenset(("", "ORG", "GPE", "PRODUCT", "WORK_OF_ART", "FAC", "LOC", "NORP"))


def find_entities(doc: Doc) -> list[Entity]:
    """The names of a parsed text in their order, each wherever it stands, whether spaCy saw it there or not."""
    text = doc.text
    formulas, points = Covered(formula_character_spans(text)), points_of_figures(text)
    labels: dict[str, str] = {}
    people = _actors(doc)
    recognized = list(_recognized(doc))
    known = {word for name, _ in recognized for word in name.split()}
    for name, label in [*recognized, *((name, "PERSON") for name in people if name not in known)]:
        if not (_is_point(name, points, text) or any(map(str.isdigit, name))):
            labels.setdefault(name, "PERSON" if name in people and label in _MISTAKEN else label)
    found: list[Entity] = []
    taken = bytearray(len(text))  # 1 where a longer name stands
    for name in sorted(labels, key=len, reverse=True):
        places = [
            match.span()
            for match in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
            if match.start() not in formulas and not any(taken[slice(*match.span())])
        ]
        for start, end in places:
            taken[start:end] = b"\1" * (end - start)
        found += [Entity(start, end, name, labels[name], len(places)) for start, end in places]
    return sorted(found, key=lambda entity: entity.start)


def _actors(doc: Doc) -> list[str]:
    """Proper nouns of one word that are the subject of a verb, or own something."""
    return [
        token.text
        for token in doc
        if token.tag_ == "NNP"
        and token.text.istitle()
        and token.text.isascii()
        and token.text not in _PLACES
        and token.text.lower() not in _DEMANDS
        and not any(child.dep_ in ("compound", "nmod") for child in token.children)
        and ((token.dep_ == "nsubj" and token.head.pos_ == "VERB") or token.dep_ == "poss")
    ]


def _recognized(doc: Doc) -> Iterator[tuple[str, str]]:
    for span in doc.ents:
        article = _ARTICLE.match(span.text)
        name = _POSSESSIVE.sub("", span.text[article.end() :] if article else span.text)
        label = _label(name, span)
        if label and name:
            yield name, label


def _label(name: str, span: Span) -> str | None:
    if span.label_ == "DATE":
        return next((label for label in ("WEEKDAY", "MONTH") if name in NAMES[label]), None)
    is_name = any(token.pos_ == "PROPN" or span.label_ in ("NORP", "LANGUAGE") for token in span)
    if not is_name or not name[0].isupper() or name.lower() in _DEMANDS or not name.isascii() or "\n" in name:
        return None
    return span.label_ if span.label_ in NAMES else None


def _is_point(name: str, points: str, text: str) -> bool:
    """Whether a name is that of a point, a line or a figure: A, AB, triangle ABC, or of a thing: X, shop B."""
    if not _LABEL.fullmatch(name) or name in _ACRONYMS:
        return False
    successive = all(ord(b) - ord(a) == 1 for a, b in pairwise(name))
    return len(name) <= 2 or successive or set(name) <= set(points) or _stands_alone(name, text)


def _stands_alone(name: str, text: str) -> bool:
    """Whether the letters of a label are labels of their own elsewhere: AB of ABC."""
    return any(re.search(rf"\b{part}\b", text) for part in (name[:2], name[1:3]))
