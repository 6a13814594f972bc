"""Tiny translation pairs, paraphrasers, rewriters and masked language models: what they give, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    FSMTConfig,
    FSMTForConditionalGeneration,
    GPT2Config,
    GPT2Model,
)

from tests import tiny_seq2seq
from tqnet.libraries import quiet
from tqnet.paraphrase.precompute import load_masked_lm
from tqnet.paraphrase.rewriter import Rewriter, new_rewriter, next_token_logits, rewriter_from_encoder
from tqnet.paraphrase.seq2seq import HammingDiversity, Placed, Seq2Seq, restore
from tqnet.text.vocabulary import learn_wordpiece

TEXTS = ["tom ran home .", "ann ate 5 red apples in the run . why did she ?", "he ran", "why", "tom ate"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    quiet()
    folder = tmp_path_factory.mktemp("models")
    return {kind: tiny_seq2seq.save(kind, folder / kind) for kind in ("bart", "marian", "rewriter")}


@pytest.mark.parametrize("kind", ["bart", "marian", "rewriter"])
def test_texts_of_a_model(folders: dict[str, str], kind: str) -> None:
    model = Seq2Seq.from_pretrained(folders[kind], "cpu", batch_size=2)
    assert model.is_rewriter == (kind == "rewriter")
    assert model.most_tokens == 32
    (likeliest, *_), sampled = model.best(TEXTS, beams=3), model.diverse(TEXTS, 3, 50.0)
    assert len(likeliest) == 1
    assert [len(candidates) for candidates in sampled] == [3] * len(TEXTS)
    assert all(len(set(candidates)) > 1 for candidates in sampled)
    assert sampled == model.diverse(TEXTS, 3, 50.0)
    alone = Seq2Seq.from_pretrained(folders[kind], "cpu", batch_size=1)
    for candidates, likewise in zip(sampled, alone.diverse(TEXTS, 3, 50.0), strict=True):
        # A batch cuts texts that do not end by its longest.
        for text, same_text in zip(candidates, likewise, strict=True):
            length = min(len(text.split()), len(same_text.split()))
            assert text.split()[: length - 1] == same_text.split()[: length - 1]
    assert model.diverse([]) == []
    assert model.diverse(["tom " * 40, "tom"])[0] == []
    assert model.diverse(["tom " * 40, "tom"])[1]


@pytest.mark.parametrize("kind", ["bart", "marian", "rewriter"])
def test_what_is_cut_has_not_come_to_its_end(kind: str, tmp_path: Path) -> None:
    """Though the model is told to end there."""
    model = Seq2Seq.from_pretrained(tiny_seq2seq.save(kind, tmp_path / kind, ends=False), "cpu")
    assert model.diverse(TEXTS, 2) == model.best(TEXTS) == [[] for _ in TEXTS]


def test_groups_keep_away_from_each_other() -> None:
    scores = torch.tensor([[3.0, 2.5, 0.0]]).repeat(6, 1)  # two texts, three groups
    begun = torch.tensor([[1, 0], [1, 0], [1, 0], [1, 2], [1, 0], [1, 0]])  # the first of the second has ended with 2
    chosen = HammingDiversity(3, 1.0, torch.tensor([2]))(begun, scores).argmax(-1)
    assert chosen.view(2, 3).tolist() == [[0, 1, 0], [0, 0, 1]]
    same = HammingDiversity(3, 0.0, torch.tensor([2]))(begun, scores)
    assert torch.equal(same, scores)
    first = torch.tensor([[2]] * 6)  # a start token that is an end token too
    chosen = HammingDiversity(3, 1.0, torch.tensor([2]))(first, scores).argmax(-1)
    assert chosen.view(2, 3).tolist() == [[0, 1, 0], [0, 1, 0]]


def test_case_and_spaces_of_a_text(folders: dict[str, str]) -> None:
    model = Seq2Seq.from_pretrained(folders["rewriter"], "cpu")
    ids = torch.tensor(model.tokenizer("tom ran 5 km , why ?")["input_ids"][1:])
    assert model._decoded(ids, "Why, Tom ran 5km!") == "Tom ran 5 km, why?"


def test_what_is_no_model_is_refused(tmp_path: Path, folders: dict[str, str]) -> None:
    for name, kind, message in (
        ("nothing/at/all", FileNotFoundError, "nothing/at/all: no such folder"),
        (str(tmp_path), FileNotFoundError, r"no model here \(config.json is missing\)"),
    ):
        with pytest.raises(kind, match=message):
            Seq2Seq.from_pretrained(name)
    BertModel(BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1)).save_pretrained(
        tmp_path / "bert"
    )
    with pytest.raises(ValueError, match=r"bert: a bert, not a sequence-to-sequence model"):
        Seq2Seq.from_pretrained(str(tmp_path / "bert"))
    damaged = Path(tiny_seq2seq.save("marian", tmp_path / "damaged"))
    (damaged / "model.safetensors").write_bytes(b"{}")
    with pytest.raises(ValueError, match="its weights cannot be read"):
        Seq2Seq.from_pretrained(str(damaged))
    (damaged / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="damaged: "):
        Seq2Seq.from_pretrained(str(damaged))


@pytest.mark.skipif(find_spec("sacremoses") is not None, reason="what this is about is there")
def test_a_tokenizer_that_lacks_its_package(tmp_path: Path) -> None:
    shape = {"langs": ["en", "de"], "src_vocab_size": 9, "tgt_vocab_size": 9, "d_model": 8}
    layers = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 1, "decoder_attention_heads": 1}
    FSMTForConditionalGeneration(FSMTConfig(**shape, **layers)).save_pretrained(tmp_path)
    for name in ("vocab-src.json", "vocab-tgt.json"):
        (tmp_path / name).write_text(json.dumps({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a</w>": 4}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "FSMTTokenizer", "langs": ["en", "de"]})
    )
    with pytest.raises(ModuleNotFoundError) as caught:
        Seq2Seq.from_pretrained(str(tmp_path))
    assert caught.value.name == "sacremoses"


@pytest.mark.parametrize("make", [new_rewriter, rewriter_from_encoder])
def test_a_rewriter_writes_what_it_learnt(make: Callable[..., Rewriter], tmp_path: Path) -> None:
    """Training and generation agree on how a text begins, goes on and ends."""
    torch.manual_seed(0)
    tokenizer = tiny_seq2seq.word_pieces()
    shape = BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    rewriter = make(BertModel(shape, add_pooling_layer=False), tokenizer, 1, 0.0)
    texts = ["Tom ran 5 km in the run.", "Why did Ann run home?"]
    inputs = dict(tokenizer(texts, padding=True, return_tensors="pt"))
    del inputs["token_type_ids"]
    optimizer = torch.optim.AdamW(rewriter.model.parameters(), lr=1e-2)
    for _ in range(80):
        logits = next_token_logits(rewriter.model, **inputs, target=inputs["input_ids"])
        loss = F.cross_entropy(logits.transpose(1, 2), inputs["input_ids"][:, 1:], ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    rewriter.save_pretrained(tmp_path)
    model = Seq2Seq.from_pretrained(str(tmp_path), "cpu")
    assert model.is_rewriter
    assert model.best(texts) == [[text] for text in texts]
    rewrites = model.diverse(texts, 2, 0.1)
    assert [candidates[0] for candidates in rewrites] == texts


def test_a_rewriter_starts_from_its_encoder() -> None:
    tokenizer = tiny_seq2seq.word_pieces()
    shape = BertConfig(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=3, num_attention_heads=2)
    encoder = BertModel(shape, add_pooling_layer=False)
    model = rewriter_from_encoder(encoder, tokenizer, 2).model
    taken = [encoder.encoder.layer[place] for place in (0, 2)]
    for layer, source in zip(model.decoder.bert.encoder.layer, taken, strict=True):
        assert torch.equal(layer.output.dense.weight, source.output.dense.weight)
        assert torch.equal(layer.crossattention.self.key.weight, source.attention.self.key.weight)
    words = model.decoder.get_output_embeddings().weight
    assert torch.equal(words, encoder.get_input_embeddings().weight)
    assert words.data_ptr() == model.decoder.get_input_embeddings().weight.data_ptr()
    assert words.data_ptr() != encoder.get_input_embeddings().weight.data_ptr()
    with pytest.raises(ValueError, match="decoder_layers: 4, but the encoder has 3"):
        rewriter_from_encoder(encoder, tokenizer, 4)
    with pytest.raises(ValueError, match="a gpt2; the rewriter needs a BERT"):
        rewriter_from_encoder(GPT2Model(GPT2Config(vocab_size=9, n_embd=8, n_layer=1, n_head=1)), tokenizer, 1)


def placed(text: str) -> list[Placed]:
    """Words, numbers and marks in small letters, with their places."""
    return [(match[0].lower(), match.span()) for match in re.finditer(r"[A-Za-z]+|\d+|[^\w\s]", text)]


@pytest.mark.parametrize(
    ("text", "made", "written"),
    [
        ("Tom paid $1,200.", "tom paid $ 1 , 200 .", "Tom paid $1,200."),
        ("Tom paid $1,200.", "he paid $ 1 , 200 .", "He paid $1,200."),
        ("He read a 120-page book at 3 km/h.", "at 3 km / h he read a 120 - page book", None),
        ("How old is Ann? She is 5.", "ann is 5 . how old is she ?", "Ann is 5. How old is she?"),
        ("The cat saw Tom.", "then the cat saw tom .", "Then the cat saw Tom."),
        ("Ann left. Then Tom left.", "ann left then tom left .", "Ann left then Tom left."),
        ("the boy has 5 pens .", "the boys have 5 pens .", "the boys have 5 pens ."),
        ("Ann ran.", "ann jump ##ed .", "Ann jumped."),
        ("Ann ran (far).", "ann ran ( very far ) .", "Ann ran (very far)."),
        ("", "why ?", "why?"),
        ("Why?", "", ""),
    ],
)
def test_a_text_is_written_like_the_one_it_was_made_from(text: str, made: str, written: str | None) -> None:
    expected = "At 3 km/h he read a 120-page book" if written is None else written
    assert restore(text, placed(text), made.split()) == expected


def test_a_text_that_was_not_changed() -> None:
    text = "In May, Tom's 2.5 km run (uphill) took 25% longer.  Why did it?\nSay $x_1$!"
    tokens = placed(text)
    assert restore(text, tokens, [token for token, _ in tokens]) == text


CPU = torch.device("cpu")
PENS = ["Ann has 3 red pens and Bob has 4 blue pens.", "How many pens do Ann and Bob have?"] * 3


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked language model of transformers with random weights."""
    folder = tmp_path_factory.mktemp("masked")
    tokenizer = learn_wordpiece(PENS, 200)
    torch.manual_seed(0)
    shape = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=24,
    )
    BertForMaskedLM(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_guesses_of_each_gap(masked: Path) -> None:
    model = load_masked_lm(str(masked), CPU)
    assert model.gap == "[MASK]"
    by_text = model(["Ann has [MASK] red [MASK].", "No gap.", "[MASK]?"])
    assert [len(gaps) for gaps in by_text] == [2, 0, 1]
    for words, probability in (guesses for gaps in by_text for guesses in gaps):
        assert len(words) == len(set(words)) == len(probability)
        assert all(word.isalnum() for word in words)
        assert probability.sum() == pytest.approx(1)
        assert (probability[:-1] >= probability[1:]).all()
    alone = model(["[MASK]?"])[0][0]
    assert alone.words == by_text[2][0].words
    assert alone.probability == pytest.approx(by_text[2][0].probability, abs=1e-5)


def test_a_long_text_is_cut(masked: Path) -> None:
    (guesses,) = load_masked_lm(str(masked), CPU)(["Ann has " * 20 + "[MASK]"])
    assert guesses == []


def test_a_model_without_a_head_is_refused(masked: Path, tmp_path: Path) -> None:
    BertModel(BertConfig.from_pretrained(masked)).save_pretrained(tmp_path / "encoder")
    with pytest.raises(ValueError, match=r"encoder: has no head for masked tokens \(cls\.predictions"):
        load_masked_lm(str(tmp_path / "encoder"), CPU)
    with pytest.raises(FileNotFoundError, match="missing: no such folder"):
        load_masked_lm(str(tmp_path / "missing"), CPU)
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "model").mkdir()
    with pytest.raises(ValueError, match=r"an encoder without its head; the folder of the run, .*run, has both"):
        load_masked_lm(str(tmp_path / "run" / "model"), CPU)
