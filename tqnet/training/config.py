"""Settings shared by all recipes."""

from __future__ import annotations

from dataclasses import field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tqnet.config import (
    REQUIRED,
    ConfigError,
    Count,
    CountOrZero,
    NonNegative,
    Precision,
    Seed,
    Share,
    ShareAboveZero,
    ShareBelowOne,
    section,
    settings,
)
from tqnet.modeling.settings import ModelConfig

if TYPE_CHECKING:
    from tqnet.questions import QuestionBank


@settings
class DataConfig:
    """Questions to train on."""

    bank: str = REQUIRED
    """Folder with questions.jsonl (or .parquet), or the file itself."""
    on_error: Literal["stop", "skip"] = "stop"
    """On faulty records: stop lists them and ends the run; skip leaves them out, and pairs that name them. On a figure
    that cannot be read later, in training: stop ends the run; skip warns and reads a blank in its place."""
    verify_images: bool = True
    """Decode every figure before the first step. Turn it off for a bank that `tqnet check` has passed."""
    pairs: str | None = None
    """File of similar pairs (a, b, similar). By default, questions of the same group are similar. For
    finetune/pairs.py: file of labelled pairs (a, b, label); by default it makes its own."""
    similar_level: Count | None = None
    """Level of the knowledge hierarchy: questions that share a concept of it are similar, in place of groups. 1 is the
    coarsest."""
    held_out: list[str] = field(default_factory=list)
    """Files of questions and paraphrases to test on. Training leaves out their questions, and near-duplicates that
    differ in spacing, numbers or a few words."""
    labelled: ShareAboveZero = 1.0
    """Share of the training labels that a supervised recipe learns from, to see what fewer labels cost. It is drawn by
    group, the same for every run.seed. Recipes that need no labels refuse it."""
    transductive: bool = False
    """Let pre-training also read the stems and figures of the splits valid and test, without labels."""
    distractors: CountOrZero = 0
    """Random questions of train to add to the search in valid that chooses the best state. Without them, a small split
    hardly tells two states apart."""
    show: Literal["all", "text", "figures", "shuffled"] = "all"
    """Parts of a question that the model sees. With shuffled, each question has the figures of another one."""
    workers: CountOrZero = 0
    """Processes that load and augment questions. With 0, the training process does it between steps."""

    def __post_init__(self) -> None:
        if self.pairs and self.similar_level is not None:
            raise ConfigError("data.similar_level: cannot be set with data.pairs")

    def refuse(self, *names: str) -> None:
        """Raise ConfigError if a setting that the recipe does not follow has another value than its default."""
        for setting in fields(self):
            default = setting.default_factory() if callable(setting.default_factory) else setting.default
            if setting.name in names and getattr(self, setting.name) != default:
                raise ConfigError(f"data.{setting.name}: this recipe does not follow it; leave it at {default}")

    def load(self) -> QuestionBank:
        """Return the whole bank, all splits, read once.

        Raises:
            BankError: The bank has faults and ``on_error`` is ``stop``.
        """
        return self._whole

    @cached_property
    def _whole(self) -> QuestionBank:
        from tqnet.questions import load_bank
        from tqnet.questions.splits import show

        return show(load_bank(self.bank, self.on_error, self.verify_images), self.show)


@settings
class OptimConfig:
    """Optimizer and learning-rate schedule."""

    name: Literal["adamw", "sgd"] = "adamw"
    """Optimizer."""
    lr: NonNegative = 1e-3
    """Learning rate of all parameters without a separate rate below."""
    text_lr: NonNegative | None = None
    """Learning rate of the text stream. null takes lr; 0 freezes the stream and skips its backward pass. A QuesNet has
    no separate text stream: its words take lr."""
    text_layers: Count | None = None
    """Number of last layers of the text encoder to train, which is faster; the other layers and the word embeddings
    stay frozen. null trains all."""
    layer_decay: ShareAboveZero = 1.0
    """Factor of the text encoder's rate from each layer to the one below, down to the word embeddings; 1 for the same
    rate everywhere. With 0.9, the first of six layers takes 0.59 of the last one's rate."""
    visual_lr: NonNegative | None = None
    """Learning rate of the visual stream. null takes lr; 0 freezes the stream and its batch-norm statistics."""
    weight_decay: NonNegative = 0.01
    """Weight decay. AdamW spares biases and norms."""
    momentum: ShareBelowOne = 0.9
    """Momentum of SGD."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """Learning rate after the warm-up: cosine or linear decay to 0, or constant."""
    warmup: Share = 0.05
    """Share of the steps in which the learning rate rises linearly from 0."""
    clip: NonNegative = 1.0
    """Maximum gradient norm; 0 turns clipping off."""


@settings
class RunConfig:
    """Length, batch size, output and resumption of a run."""

    out: str = REQUIRED
    """Folder of the run. It gets checkpoints, metrics.jsonl, config.yaml and model/, the result."""
    seed: Seed = 0
    """Seed of all random draws."""
    epochs: Count = 1
    """Passes over the data."""
    max_steps: Count | None = None
    """Maximum number of optimizer steps; null for all steps of the epochs."""
    batch_size: Count = 64
    """Questions per micro-batch, over all processes."""
    accumulate: Count = 1
    """Micro-batches per optimizer step."""
    precision: Precision = "auto"
    """Precision of the forward pass. auto is bf16 where the hardware computes in it natively, else fp32."""
    resume: bool = False
    """Continue from the last checkpoint in run.out, bit for bit."""
    log_every: Count = 10
    """Optimizer steps between log lines."""
    save_every: Count = 200
    """Optimizer steps between checkpoints."""
    eval_every: CountOrZero = 0
    """Optimizer steps between evaluations; 0 for once an epoch."""
    keep: Count = 2
    """Checkpoints to keep."""
    wandb: str | None = None
    """Project of Weights & Biases to log to (WANDB_MODE=offline works); null for none."""
    threads: CountOrZero = 0
    """CPU threads per process; 0 for PyTorch's default."""


@settings
class RecipeConfig:
    """Settings of every recipe; recipes add their own."""

    data: DataConfig = section(DataConfig)
    model: ModelConfig = section(ModelConfig)
    optim: OptimConfig = section(OptimConfig)
    run: RunConfig = section(RunConfig)
