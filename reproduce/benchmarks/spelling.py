"""How often misspelt words of typed queries are corrected, and how often right words of another bank are changed.

    python -m reproduce.benchmarks.spelling INDEX OTHER_BANK

Queries are English questions of INDEX in its split `valid`, each with one or two words (of four letters or more) that a
random edit has misspelt. Every change of a word of OTHER_BANK, in the same split, counts as a wrong one.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections import Counter
from collections.abc import Iterable

from reproduce.benchmarks.harness import make_parser
from tqnet.cli.index import open_index
from tqnet.questions import Question, load_bank
from tqnet.search.background import Words, latin_words
from tqnet.search.index import Index
from tqnet.search.records import record_question
from tqnet.search.searcher import typed_question
from tqnet.search.spelling import corrected

_SHORTEST = 4
_LISTED = 20


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("index", help="folder of tqnet index")
    parser.add_argument("other_bank", help="a bank of other authors")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    index, others = open_index(args.index), load_bank(args.other_bank)
    stems = sorted(_english_stems(_questions(index)))
    queries = random.Random(args.seed).sample(stems, min(args.queries, len(stems)))
    measured = {
        f"misspelt queries of {index.manifest.bank}": restored(queries, index.background.words, args.seed),
        f"right words of {others.name}": changed(_english_stems(others), index.background.words),
    }
    print(json.dumps(measured, indent=1))


def _questions(index: Index) -> Iterable[Question]:
    return (record_question(row) for table in index.engine.scan(["question", "images"]) for row in table.to_pylist())


def _english_stems(questions: Iterable[Question]) -> list[str]:
    """Return the stems as they are read when typed."""
    chosen = (q.stem for q in questions if q.split == "valid" and q.language == "en" and q.stem.strip())
    return [typed_question(stem).stem for stem in chosen]


def restored(stems: Iterable[str], counts: Words, seed: int) -> dict[str, float]:
    """Misspell one or two words of each stem and count what becomes of them."""
    chance, fates = random.Random(seed), Counter[str]()
    for stem in stems:
        words = [word for word in latin_words(stem) if len(word[0]) >= _SHORTEST]
        chosen = sorted(chance.sample(words, min(len(words), chance.randint(1, 2))), key=re.Match.start)
        wrong = [_misspelt(word[0], chance) for word in chosen]
        after = [word[0] for word in latin_words(corrected(_replaced(stem, chosen, wrong), counts))]
        places = [list(map(re.Match.start, latin_words(stem))).index(word.start()) for word in chosen]
        for place, word, typed in zip(places, chosen, wrong, strict=True):
            known = typed.lower() in counts
            fate = {word[0]: "restored", typed: "left"}.get(after[place], "changed to another word")
            fates["left: the bank has such a word" if known and fate == "left" else fate] += 1
    total = fates.total()
    return {"words": total, **{fate: round(count / total, 3) for fate, count in fates.most_common()}}


def _misspelt(word: str, chance: random.Random) -> str:
    """Return a word one insertion, deletion, substitution or exchange of neighbours away."""
    at, letter = chance.randrange(len(word) - 1), chance.choice(string.ascii_lowercase)
    edits = (
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )
    wrong = chance.choice(edits)
    return wrong if wrong != word else _misspelt(word, chance)


def _replaced(text: str, places: Iterable[re.Match[str]], words: Iterable[str]) -> str:
    pieces, written = [], 0
    for place, word in zip(places, words, strict=True):
        pieces += [text[written : place.start()], word]
        written = place.end()
    return "".join((*pieces, text[written:]))


def changed(stems: Iterable[str], counts: Words) -> dict[str, object]:
    """Count the words that are changed, though they are right."""
    total, changes = 0, Counter[str]()
    for stem in stems:
        before, after = ([word[0] for word in latin_words(text)] for text in (stem, corrected(stem, counts)))
        total += len(before)
        changes.update(f"{a} -> {b}" for a, b in zip(before, after, strict=True) if a != b)
    return {
        "words": total,
        "changed": changes.total(),
        "share": round(changes.total() / max(1, total), 5),
        "changes": dict(changes.most_common(_LISTED)),
    }


if __name__ == "__main__":
    main()
