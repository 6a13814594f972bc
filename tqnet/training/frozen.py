"""Train the read-out of a frozen encoder, which encodes every question once."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.config import ConfigError
from tqnet.libraries import precision
from tqnet.modeling.encoder import QuestionEncoder, TQNetOutput
from tqnet.modeling.lexical import LexicalReadout
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.processor import TQNetProcessor
from tqnet.modeling.visual import is_untrained
from tqnet.questions import QuestionBank
from tqnet.training.config import RunConfig
from tqnet.training.data import Batch, Item, QuestionViews
from tqnet.training.processes import encode_in_shares

#: Width of the terms appended to the vector.
WIDTH = 256

#: Questions whose terms are summed at a time.
_CHUNK = 256


class FrozenEncoder(nn.Module):
    """A new linear read-out (`LexicalReadout`) of a model's vectors and the questions' terms, the only part to train.

    Args:
        model: Gets the new read-out in place of any earlier one.
        bank: Questions to fit the terms to.
        weight: Weight of the terms relative to the vector; 0 reads the vector alone.

    Raises:
        ConfigError: The model is not a TQ-Net, or its visual stream is untrained.
    """

    def __init__(
        self,
        model: QuestionEncoder,
        bank: QuestionBank,
        weight: float,
        run: RunConfig,
        device: torch.device | str = "cpu",
    ):
        super().__init__()
        if not isinstance(model, TQNetModel):
            raise ConfigError(f"frozen: reads out a tqnet, not a {model.config.model_type}")
        if model.config.reads_images and is_untrained(model):
            raise ConfigError(
                "frozen: the visual stream would keep its random weights; model.visual=null reads no figures"
            )
        if model.figure_gate is not None and not model.figure_gate.any():
            raise ConfigError("frozen: the gate on figures would stay shut; model.pooling=tokens has none")
        self._whole, self.run, self.device = (model,), run, device  # in a tuple, so not a submodule to train
        config: Any = model.config
        config.readout, config.lexical, config.lexical_weight = True, WIDTH if weight else 0, weight
        self.config, self.readout = config, LexicalReadout(config)
        nn.init.orthogonal_(self.readout.linear.weight)  # a rotation; with terms, a projection
        if self.readout.terms is not None:
            self.readout.fit(_token_ids(model, bank), model.processor.tokenizer, run.seed)
            self.readout.terms.requires_grad_(False)
        self._validation: dict[str, Tensor] = {}

    def forward(self, features: Tensor) -> TQNetOutput:
        """Read vectors [b, h] out of :meth:`features`."""
        return TQNetOutput(embedding=self.readout.linear(features))

    def views(self, bank: QuestionBank) -> FrozenViews:
        """Encode ``bank`` for training."""
        (model,) = self._whole
        return FrozenViews(bank, model.processor, self.run.seed, self.features(bank))

    @torch.no_grad()
    def encode(self, bank: QuestionBank) -> np.ndarray:
        """Return the vectors of ``bank``, which is encoded once for all states of the read-out."""
        if bank.fingerprint not in self._validation:
            self._validation[bank.fingerprint] = self.features(bank)
        features = self._validation[bank.fingerprint].to(self.readout.linear.weight.device)
        return self.readout.linear(features).float().cpu().numpy()

    @torch.no_grad()
    def features(self, bank: QuestionBank) -> Tensor:
        """Encode ``bank`` into what the linear map reads, [questions, width], on the host."""
        (model,) = self._whole
        model.readout = None
        options = {"device": self.device, "precision": precision(self.run.precision)}
        vectors = torch.from_numpy(encode_in_shares(model, bank, **options))
        model.readout = self.readout
        if self.readout.terms is None:  # nothing to tokenise
            return F.normalize(vectors, dim=1)
        ids, device = _token_ids(model, bank), self.readout.linear.weight.device
        parts = []
        for start in range(0, len(bank), _CHUNK):
            packed = model.processor.pack_text(ids[start : start + _CHUNK])
            rows = vectors[start : start + _CHUNK], packed["input_ids"], packed["attention_mask"]
            parts.append(self.readout.features(*(tensor.to(device) for tensor in rows)).cpu())
        return torch.cat(parts)


def _token_ids(model: QuestionEncoder, bank: QuestionBank) -> list[list[int]]:
    return model.processor.tokenize([question.content for question in bank.partial("stem", "options")])


class FrozenViews(QuestionViews):
    """Training questions as ``features`` [questions, width] of a frozen encoder."""

    def __init__(self, bank: QuestionBank, processor: TQNetProcessor, seed: int, features: Tensor):
        super().__init__(bank, processor, seed)
        self.features = features

    def __getitem__(self, item: Item) -> Any:
        return item

    def collate(self, rows: list[Any]) -> Batch:
        """Return the features of the items."""
        index = torch.tensor([question for _, question, _ in rows])
        return Batch(index, [{"features": self.features[index]}])
