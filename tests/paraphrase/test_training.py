"""What a run of finetune/paraphrase.py sees of its questions, and what it makes of them beforehand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from finetune.paraphrase import another, contrast
from tqnet.config import ConfigError
from tqnet.losses.contrastive import cosine_triplet, in_batch_infonce
from tqnet.modeling.model import TQNetModel
from tqnet.paraphrase import TRAINING, ParaphraseScorer
from tqnet.paraphrase.operators import Operator, operators, select
from tqnet.paraphrase.precompute import made_of_each, refilled
from tqnet.paraphrase.problem import NotApplicable, Parser, Problem
from tqnet.paraphrase.settings import ParaphraseConfig
from tqnet.paraphrase.training import Draws, ParaphraseViews, PseudoLabels, ValidationSeparation, as_questions
from tqnet.questions import Question, QuestionBank
from tqnet.questions.paraphrase_pairs import ParaphrasePair
from tqnet.training.data import Batch
from tqnet.training.sampler import LocalBatches, ShuffledBatches

TEXTS = [
    "Maria ran 12 km in 2 hours on Monday. How fast did Maria run?",
    "A box holds 24 eggs. How many eggs do 5 boxes hold?",
    "Tom paid $15 for 3 books. What did one book cost?",
    "The pool is 25 m long and 10 m wide. What is its area?",
    "Lena read 30 pages on Sunday and 45 pages in May. How many pages did Lena read?",
    "A car needs 6 litres for 100 km. How many litres does it need for 250 km?",
]


@pytest.fixture
def draws(parse: Parser) -> Draws:
    rules = operators(TRAINING)
    return Draws(parse.parse(TEXTS), [select(rules, "positive"), select(rules, "negative")], seed=5)


@pytest.fixture
def load(draws: Draws, build_tiny: Callable[..., TQNetModel]) -> Callable[..., list[Batch]]:
    processor = build_tiny().processor
    bank = QuestionBank.from_questions(Question(id=f"q{at}", stem=text) for at, text in enumerate(TEXTS))

    def load(workers: int = 0, start: int = 0, rank: int = 0, world: int = 1) -> list[Batch]:
        views = ParaphraseViews(bank, processor, draws, seed=5)
        plan = ShuffledBatches(np.array(list(map(len, TEXTS))), 2, 5)
        sampler = LocalBatches(plan, start, 3 * len(plan), rank, world)
        return list(DataLoader(views, batch_sampler=sampler, collate_fn=views.collate, num_workers=workers))

    return load


def equal(first: Batch, second: Batch) -> bool:
    return torch.equal(first.index, second.index) and all(
        torch.equal(left[name], right[name])
        for left, right in zip(first.views, second.views, strict=True)
        for name in left
    )


def test_every_epoch_draws_anew_and_the_same_again(draws: Draws) -> None:
    drawn = [[draws(epoch, row) for row in range(len(draws))] for epoch in range(6)]
    assert drawn == [[draws(epoch, row) for row in range(len(draws))] for epoch in range(6)]
    for row, text in enumerate(TEXTS):
        row_draws = [epoch[row] for epoch in drawn]
        assert {texts[0] for texts in row_draws} == {text}
        assert len({texts[2] for texts in row_draws}) > 2
        assert text not in {texts[2] for texts in row_draws}


def _rows(batch: Batch) -> Any:
    return zip(batch.inputs["input_ids"], batch.inputs["attention_mask"], strict=True)


def test_a_batch_has_the_texts_of_a_question_side_by_side(
    load: Callable[..., list[Batch]], draws: Draws, build_tiny: Callable[..., TQNetModel]
) -> None:
    tokenize = build_tiny().processor.tokenize
    for batch in load()[:3]:
        expected = tokenize([text for row in batch.index.tolist() for text in draws(0, row)])
        assert [ids[mask.bool()].tolist() for ids, mask in _rows(batch)] == expected
        assert len(set(batch.extras["content"].tolist())) == 2
        assert batch.inputs["image_counts"].tolist() == [0] * 6


def test_questions_without_a_text_of_each_kind_are_left_out(parse: Parser) -> None:
    problems = parse.parse([TEXTS[0], "Why?", TEXTS[1]])
    draws = Draws(problems, [operators(["f2"]), operators(["f8"])], seed=0)
    assert draws.rows.tolist() == [0, 2]
    assert draws.reasons == Counter({"f8: there are no numbers": 1})
    assert draws(0, 1)[0] == TEXTS[1]


def test_what_fails_by_chance_falls_back_on_what_did_not(parse: Parser) -> None:
    calls: list[int] = []

    def once(problem: Any, rng: np.random.Generator) -> str:
        calls.append(1)
        if len(calls) == 2:
            raise NotApplicable("bad luck")
        return f"{rng.random()}"

    draws = Draws(parse.parse(TEXTS[:1]), [[Operator("f0", "positive", once)]], seed=0)
    first = str(np.random.default_rng([0, 0]).random())
    assert draws(7, 0) == (TEXTS[0], first)
    assert draws(7, 0) != (TEXTS[0], first)


def test_what_was_made_of_a_text_is_not_made_again(
    parse: Parser, tiny_model: TQNetModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But by another model, or by other settings; what a killed run has left unfinished is made anew."""
    monkeypatch.setenv("TQNET_CACHE", str(tmp_path))
    asked: list[str] = []

    def make(problems: Sequence[Problem]) -> Iterator[tuple[str, list[str]]]:
        for problem in problems:
            asked.append(problem.text)
            yield problem.text, [f"not {problem.text}"]

    problems = parse.parse(TEXTS[:4])
    assert made_of_each(problems[:3], make, tiny_model, "f5") == {text: [f"not {text}"] for text in TEXTS[:3]}
    (file,) = (tmp_path / "made").glob("*.jsonl")
    file.write_text(file.read_text()[:-5])
    assert list(made_of_each(problems[1:], make, tiny_model, "f5")) == TEXTS[1:4]
    assert asked == [*TEXTS[:3], TEXTS[2], TEXTS[3]]
    made_of_each(problems, make, tiny_model, "f5")
    assert len(asked) == 5
    made_of_each(problems[:1], make, tiny_model, "f5 of another parser")
    with torch.no_grad():
        next(tiny_model.parameters()).add_(1)
    made_of_each(problems[:1], make, tiny_model, "f5")
    assert len(asked) == 7
    assert len(list((tmp_path / "made").glob("*.jsonl"))) == 3


class Constant:
    """Guesses one word for every gap."""

    gap = "[MASK]"

    def __call__(self, texts: Sequence[str]) -> list[list[tuple[Sequence[str], np.ndarray]]]:
        return [[(("seven", "eight"), np.array([0.5, 0.5]))] * text.count(self.gap) for text in texts]


def test_refills_do_not_depend_on_their_neighbours(parse: Parser, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = parse.parse(TEXTS)
    made = dict(refilled(problems, Constant(), 0.3, 3, 0, False))  # type: ignore[arg-type]
    assert {len(texts) for texts in made.values()} == {3}
    assert all(len(set(texts)) > 1 and text not in texts for text, texts in made.items())
    monkeypatch.setattr("tqnet.paraphrase.precompute._FILLED", 1)
    assert dict(refilled(problems, Constant(), 0.3, 3, 0, False)) == made  # type: ignore[arg-type]


def test_pseudo_labels_are_of_the_start_encoder(tiny_model: TQNetModel) -> None:
    texts = [TEXTS[0], TEXTS[0], TEXTS[0], "苹果", TEXTS[1], TEXTS[1]]
    cosine = tiny_model.encode(as_questions(texts), device="cpu", normalize=True)
    cosine = (cosine[::2] * cosine[1::2]).sum(1)
    batch = dict(tiny_model.processor(texts))
    labels, accelerator = PseudoLabels(tiny_model, float(cosine[1]) + 1e-4), Accelerator(cpu=True)
    for parameter in tiny_model.parameters():  # it is trained on
        parameter.data.zero_()
    assert labels(accelerator, **batch).tolist() == [True, False, True]
    assert labels(accelerator, **batch).tolist() == [True, False, True]
    assert labels.summary() == {
        "threshold": labels.threshold,
        "positive": 4,
        "negative": 2,
        "positive_percent": 66.67,
        "negative_percent": 33.33,
    }
    again = PseudoLabels(tiny_model, labels.threshold)
    again.load_state_dict(labels.state_dict())
    assert again(accelerator, **batch).tolist() == [True, False, True]
    assert again.summary()["positive"] == 6


def unit(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(seed)), dim=-1)


def test_the_next_question_is_another_one() -> None:
    content = torch.tensor([4, 4, 7, 4])
    assert another(content[:, None] == content).tolist() == [2, 2, 3, 2]
    assert another(torch.ones(3, 3, dtype=torch.bool)).tolist() == [1, 2, 0]  # all are the same
    assert another(torch.eye(4, dtype=torch.bool)).tolist() == [1, 2, 3, 0]


def test_contrast_of_triplets_and_of_pairs() -> None:
    triplets, content = unit(4, 3, 8), torch.arange(4)
    anchor, positive, negative = triplets.unbind(1)
    loss, means = contrast(triplets, content, None, ParaphraseConfig(margin=0.7))
    assert torch.equal(loss, cosine_triplet(anchor, positive, negative, 0.7))
    torch.testing.assert_close(means["negative"], (anchor * negative).sum(1).mean())
    for hard, keys in ((True, torch.cat([positive, negative])), (False, positive)):
        loss, _ = contrast(triplets, content, None, ParaphraseConfig(objective="mnr", hard_negatives=hard))
        assert torch.equal(loss, in_batch_infonce(anchor, keys, 0.05)[0])
    baseline = ParaphraseConfig(method="uda", margin=0.7)
    loss, _ = contrast(triplets[:, :2], content, None, baseline)
    assert torch.equal(loss, cosine_triplet(anchor, positive, anchor[[1, 2, 3, 0]], 0.7))


def test_contrast_of_pairs_that_are_labelled_negative() -> None:
    pairs, content, valid = unit(3, 2, 8), torch.arange(3), torch.tensor([True, False, True])
    anchor, partner = pairs.unbind(1)
    positive = torch.stack([partner[0], anchor[1], partner[2]])
    negative = torch.stack([anchor[1], partner[1], anchor[0]])
    loss, _ = contrast(pairs, content, valid, ParaphraseConfig(method="uda", pseudo=True, margin=0.7))
    assert torch.equal(loss, cosine_triplet(anchor, positive, negative, 0.7))
    loss, _ = contrast(pairs, content, valid, ParaphraseConfig(method="uda", pseudo=True, objective="mnr"))
    assert torch.equal(loss, in_batch_infonce(anchor, torch.cat([positive, partner[1:2]]), 0.05)[0])


def test_validation_sees_what_evaluation_sees(tiny_model: TQNetModel, tmp_path: Path) -> None:
    """HTML is cleaned, and "<" is no tag."""
    rows = [
        ("<p>Tom has <b>5</b> pens.</p>", "Tom has five pens.", 1),
        ("Is a<b and c>d?", "Is a less than b?", 1),
        ("<p>Tom has <b>5</b> pens.</p>", "Tom has<br>pens.", 0),
    ]
    pairs = [ParaphrasePair(original, text, label, str(at)) for at, (original, text, label) in enumerate(rows)]
    scores = [result.score for result in ParaphraseScorer(tiny_model, explain=False, precision="fp32").score(pairs)]
    metrics = ValidationSeparation(tiny_model, pairs, "fp32")()
    assert next(iter(metrics)) == "valid/separation"
    assert metrics["valid/separation"] == pytest.approx(metrics["valid/positive"] - metrics["valid/negative"])
    assert metrics["valid/positive"] == pytest.approx((scores[0] + scores[1]) / 2, abs=1e-6)
    assert metrics["valid/negative"] == pytest.approx(scores[2], abs=1e-6)
    plain = tiny_model.encode(as_questions(["Tom has 5 pens.", "Tom has five pens."]), device="cpu", normalize=True)
    assert scores[0] == pytest.approx(float(plain[0] @ plain[1]), abs=1e-5)
    file = tmp_path / "pairs.jsonl"
    made = [{"original": text, "paraphrase": "Why?", "label": at} for at, text in enumerate(("Why?", "<p> </p>"))]
    file.write_text("\n".join(map(json.dumps, made)))
    with pytest.raises(ConfigError, match=r"^data\.valid_pairs: .*pairs\.jsonl: '<p> </p>': empty"):
        ValidationSeparation.of(tiny_model, str(file), "fp32")


def test_what_is_to_be_chosen_by(tiny_model: TQNetModel, tmp_path: Path) -> None:
    assert ValidationSeparation.of(tiny_model, None, "fp32") is None
    file = tmp_path / "pairs.jsonl"
    rows = [{"original": TEXTS[0], "paraphrase": TEXTS[1], "label": label} for label in (0, None)]
    file.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(ConfigError, match=r"data\.valid_pairs: .*pairs\.jsonl has no pairs of both labels"):
        ValidationSeparation.of(tiny_model, str(file), "fp32")
