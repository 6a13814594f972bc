"""Every recipe leaves a card: it says how the model came about, and its code runs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import ModelCard
from PIL import Image

from tqnet.cli import main
from tqnet.hub.card import is_own

FAST = ["run.max_steps=2", "run.batch_size=8"]
CODE = re.compile(r"^### (.*?)\n\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def card_of(run: Any) -> tuple[ModelCard, str]:
    file = run.out / "model" / "README.md"
    return ModelCard.load(file), file.read_text(encoding="utf-8")


def run_code(folder: Path, monkeypatch: pytest.MonkeyPatch, kinds: set[str]) -> set[str]:
    """Run the snippets of a card of these kinds, one after the other, in its folder; return all kinds that it has."""
    Image.new("RGB", (40, 30), "white").save(folder / "figure.png")
    snippets = dict(CODE.findall((folder / "README.md").read_text(encoding="utf-8")))
    monkeypatch.chdir(folder)
    exec("\n".join(code for kind, code in snippets.items() if kind in kinds), {})
    return set(snippets)


def test_an_encoder_with_its_stages(train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    first = train("pretrain.mlm", *FAST, out="first")
    second = train("finetune.similar", *FAST[:2], f"model.start={first.out / 'model'}", out="second")
    card, text = card_of(second)
    data = card.data.to_dict()
    assert data["license"] == "unknown"
    assert data["pipeline_tag"] == "sentence-similarity"
    assert data["language"] == ["en", "zh"]
    assert {"sentence-transformers", "multimodal"} <= set(data["tags"])
    assert text.index("| masked language modelling | `pretrain/mlm.py` | first | small | 2 |") < text.index(
        "| contrast of similar questions (TQ-Net, stage 3) | `finetune/similar.py` | second | small | 2 |"
    )
    start = "text: random weights and a vocabulary learnt from the bank; figures: test_resnet, random weights."
    assert f"Start: {start}" in text
    chosen = max((r for r in second.records if "valid/p@5" in r and r["step"]), key=lambda r: r["valid/p@5"])
    assert f"After step {chosen['step']} of 2" in text
    assert f"| p@5 | {chosen['valid/p@5']:.4f} | {second.records[0]['valid/p@5']:.4f} |" in text
    assert re.search(r"- small, its training questions: \d+; languages: en \d+, zh \d+; licence: not stated", text)
    assert "start: first" in text
    kinds = {"tqnet", "transformers"}
    assert run_code(second.out / "model", monkeypatch, kinds) == kinds | {"sentence-transformers"}

    # A resumed run that has ended writes nothing; a card that somebody changed stays.
    file = second.out / "model" / "README.md"
    assert main(["card", str(file.parent), "--license", "apache-2.0"]) == 0
    stated = file.read_text(encoding="utf-8")
    assert "license: apache-2.0" in stated
    again = [*FAST[:2], f"model.start={first.out / 'model'}", "run.resume=true"]
    train("finetune.similar", *again, out="second")
    assert file.read_text(encoding="utf-8") == stated
    file.write_text("# My own\n")
    train("pretrain.mlm", *FAST, "run.resume=true", out="first")
    train("finetune.similar", *again, out="second")
    assert main(["card", str(file.parent)]) == 1
    assert file.read_text(encoding="utf-8") == "# My own\n"
    assert main(["card", str(file.parent), "--force"]) == 0
    assert is_own(file)


def test_a_text_model_whose_start_has_gone(train: Callable[..., Any], tmp_path: Path) -> None:
    first = train("pretrain.mlm", *FAST, "model.visual=null", out="first")
    assert "None: the last state is kept" in card_of(first)[1]
    second = train("pretrain.moco", *FAST[:2], "queue=32", f"model.start={first.out / 'model'}", out="second")
    (first.out / "model").rename(tmp_path / "elsewhere")
    assert main(["card", str(second.out / "model")]) == 0
    text = card_of(second)[1]
    assert "a trained folder, first, which no longer exists" in text
    assert "It reads no figures." in text
    assert "multimodal" not in text


@pytest.mark.slow
def test_the_code_for_sentence_transformers(train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers")
    run = train("pretrain.mlm", *FAST)
    run_code(run.out / "model", monkeypatch, {"sentence-transformers"})


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (("finetune.pairs",), "A classifier of pairs of questions, trained with tqnet"),
        (("pretrain.quesnet", "stage=holes", "target=32"), "QuesNetModel.from_pretrained"),
    ],
)
def test_other_kinds(
    golden: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recipe: tuple[str, ...], message: str
) -> None:
    folder = shutil.copytree(golden(*recipe).out / "model", tmp_path / "model")
    assert message in (folder / "README.md").read_text(encoding="utf-8")
    assert "tqnet" in run_code(folder, monkeypatch, {"tqnet", "transformers"})


def test_a_rewriter(train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("spacy")
    run = train("pretrain.rewriter", *FAST, "decoder_layers=1", "model.scratch_vocab=800")
    assert "A model that rewrites questions" in card_of(run)[1]
    assert "tqnet" in run_code(run.out / "model", monkeypatch, {"tqnet", "transformers"})
