"""A text encoder of bidirectional GRUs (Xie and Sun 2019, GTS): a baseline without attention."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput


class GRUConfig(PretrainedConfig):
    """Configuration of a :class:`GRUEncoder`; defaults from GTS.

    Args:
        hidden_size: State size per direction; the two directions are summed.
        dropout: Applied to embeddings and between layers.
    """

    model_type = "tqnet_gru"
    #: Expected of any text encoder; a GRU has neither learnt positions nor attention heads.
    max_position_embeddings = 100_000
    num_attention_heads = 1

    def __init__(
        self,
        vocab_size: int = 8000,
        embedding_size: int = 128,
        hidden_size: int = 512,
        num_hidden_layers: int = 2,
        dropout: float = 0.5,
        pad_token_id: int | None = 0,
        **kwargs: Any,
    ):
        self.vocab_size = vocab_size
        self.embedding_size = embedding_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.dropout = dropout
        self.pad_token_id = pad_token_id
        super().__init__(**kwargs)


class GRUEncoder(PreTrainedModel):
    """Bidirectional GRU encoder.

    A word's state is the sum of both directions. The first token, [CLS], which represents the text in BERT, gets the
    state that starts decoding in GTS: the final forward state plus the final backward state.
    """

    config_class = GRUConfig
    base_model_prefix = "gru_encoder"

    def __init__(self, config: GRUConfig, add_pooling_layer: bool = False):
        super().__init__(config)
        self.words = nn.Embedding(config.vocab_size, config.embedding_size, padding_idx=config.pad_token_id)
        self.dropout = nn.Dropout(config.dropout)
        shape = config.embedding_size, config.hidden_size, config.num_hidden_layers
        between = config.dropout if config.num_hidden_layers > 1 else 0.0
        self.gru = nn.GRU(*shape, batch_first=True, bidirectional=True, dropout=between)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Use PyTorch's defaults, as GTS does: embeddings of variance 1, GRU weights within 1 / sqrt(h)."""
        if isinstance(module, nn.Embedding | nn.GRU):
            module.reset_parameters()

    def get_input_embeddings(self) -> nn.Embedding:
        return self.words

    def set_input_embeddings(self, value: Any) -> None:
        self.words = value

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> BaseModelOutput:
        """Return states [b, t, h] of input_ids [b, t]; attention_mask [b, t], real tokens first, or None if all are."""
        b, t = input_ids.shape
        lengths = torch.full((b,), t) if attention_mask is None else attention_mask.sum(1).cpu()
        words = self.dropout(self.words(input_ids))
        packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        states, _lengths = pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=t)
        forwards, backwards = states.chunk(2, -1)
        last = forwards[torch.arange(b, device=states.device), lengths.to(states.device) - 1]
        whole = (last + backwards[:, 0])[:, None]
        return BaseModelOutput(last_hidden_state=torch.cat((whole, (forwards + backwards)[:, 1:]), 1))


AutoConfig.register("tqnet_gru", GRUConfig)
AutoModel.register(GRUConfig, GRUEncoder)
