"""What a model that restores texts is shown of them: it paraphrases (f_b), or rounds off what is no longer there."""

from __future__ import annotations

from functools import partial

import numpy as np

from tqnet.augment.paraphrase.corruption import corrupt, delete_words
from tqnet.augment.paraphrase.deletion import without_phrases
from tqnet.augment.paraphrase.operators import Rewrite
from tqnet.augment.paraphrase.problem import NotApplicable, Problem

#: Of the words; half of what the model learnt to restore, where its result is to ask the same.
_LIGHTLY = 0.08
#: Of the words of a text without phrases.
_HEAVILY = 0.3


def leave_out(problem: Problem, rng: np.random.Generator) -> str:
    """The text without one of its key phrases; where it has none, without some of its words.

    Raises:
        NotApplicable: It is no longer than a word.
    """
    try:
        texts = without_phrases(problem)
    except NotApplicable:
        return delete_words(problem, rng, _HEAVILY)
    return texts[rng.integers(len(texts))]


#: Operator -> what a model that restores is shown in order to do its work.
#:
#: NOTE: only reconstruction is ParaQD's own use of such a model (f_b); in the others it is a stand-in. The paper's
#: models lose information by themselves; here it is lost before the model makes a sentence of the rest.
DAMAGES: dict[str, Rewrite] = {
    "back-translation": partial(corrupt, share=_LIGHTLY),
    "lossy-paraphrase": leave_out,
    "reconstruction": corrupt,
    "paraphrase": leave_out,
}
