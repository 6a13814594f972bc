"""A baseline: pre-training of QuesNet (Yin et al. 2019; TQ-Net, Tables 4 and 5), in two runs.

    accelerate launch pretrain/quesnet.py --config configs/demo/quesnet_embedding.yaml run.out=runs/quesnet-embedding
    accelerate launch pretrain/quesnet.py --config configs/demo/quesnet.yaml \\
        model.start=runs/quesnet-embedding/model run.out=runs/quesnet

``stage=embedding`` trains each modality on its own: words by skip-gram, figures by an auto-encoder.
``stage=holes`` is the holed language model: it predicts every word and every figure from the content before and after
it. ``finetune/similar.py`` follows, as after any stage.

NOTE: we leave out the paper's domain-oriented objective (which option is the answer?): it reads answers, which no other
row of the table does, and most banks have no options.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from tqnet.config import ConfigError, Count, NonNegative, ShareAboveZero, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.losses.prediction import figure_reconstruction, masked_token_prediction, skip_gram
from tqnet.modeling.heads import FigureDecoder, MaskedTokenHead
from tqnet.modeling.quesnet import QuesNetModel, hole_contexts, one_sequence
from tqnet.modeling.settings import ModelConfig
from tqnet.training import session
from tqnet.training.config import RecipeConfig, RunConfig
from tqnet.training.loop import TrainingLoop


@settings
class QuesNetPretrainingConfig(RecipeConfig):
    """Settings of both stages."""

    model: ModelConfig = section(ModelConfig, architecture="quesnet")
    run: RunConfig = section(RunConfig, out="runs/quesnet")
    stage: Literal["embedding", "holes"] = "holes"
    """Stage to run: embedding first, then holes."""
    window: Count = 5
    """Words on each side that count as context in skip-gram."""
    noise: Count = 5
    """Negative words per context word in skip-gram."""
    holes: ShareAboveZero = 1.0
    """Share of words to predict per step; the paper has 1, less is faster."""
    target: Count = 64
    """Side of the reconstructed figure in pixels."""
    figure_weight: NonNegative = 1.0
    """Weight of the figure loss; the word loss has 1."""


class Pretraining(nn.Module):
    """Base of both stages: the model, its word tokens, and the decoder of figures.

    NOTE: losses are means over a process's own words and figures, so on several processes, those of a process with few
    weigh more.

    NOTE: the paper keeps the image decoder from stage to stage; here the second run starts a new one, since a model's
    folder has no heads.
    """

    def __init__(self, model: QuesNetModel, config: QuesNetPretrainingConfig):
        super().__init__()
        self.model, self.figure_weight = model, config.figure_weight
        self.images = model.processor.image_processor
        self.register_buffer("special", torch.tensor(model.processor.tokenizer.all_special_ids), persistent=False)
        if model.config.reads_images:
            start = nn.Linear(model.config.hidden_size, 128 * 16), nn.ReLU(), nn.Unflatten(1, (128, 4, 4))
            self.decoder = nn.Sequential(*start, FigureDecoder(128, config.target))

    def is_word(self, input_ids: Tensor) -> Tensor:
        """Return bool [b, t], False at special tokens."""
        return ~torch.isin(input_ids, self.get_buffer("special"))

    def figure_loss(self, vectors: Tensor, pixel_values: Tensor) -> Tensor:
        """Return the weighted loss of reconstructing figures [n, 3, H, W] from vectors [n, h]."""
        if not self.model.config.reads_images:
            return vectors.new_zeros(())
        if not len(vectors):
            # Other processes may have figures, so decoder and visual stream must join the all-reduce.
            blank = self.decoder(vectors.new_zeros((1, self.model.config.hidden_size)))
            return 0.0 * (blank.sum() + vectors.sum())
        return self.figure_weight * figure_reconstruction(self.decoder(vectors), self.images.as_imagenet(pixel_values))


class EmbeddingPretraining(Pretraining):
    """Trains the embedding layer: words predict their neighbours, figures are reconstructed from their vectors."""

    def __init__(self, model: QuesNetModel, config: QuesNetPretrainingConfig):
        super().__init__(model, config)
        self.window, self.noise = config.window, config.noise
        self.context = nn.Embedding(model.config.vocab_size, model.config.hidden_size)
        nn.init.zeros_(self.context.weight)  # as word2vec does
        model.content.requires_grad_(False)
        model.sentence.requires_grad_(False)

    def forward(self, input_ids: Tensor, pixel_values: Tensor, **batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a packed batch, and its parts.

        NOTE: noise is drawn from the batch's words by frequency; word2vec flattens counts by a power of 3/4.
        """
        words, _, figures, figure_mask = self.model.embed(input_ids, pixel_values=pixel_values, **batch)
        is_word = self.is_word(input_ids)
        drawable = input_ids[is_word] if is_word.any() else input_ids.flatten()
        drawn = torch.randint(len(drawable), (*input_ids.shape, self.noise), device=input_ids.device)
        noise = self.context(drawable[drawn])
        word_loss = skip_gram(words, self.context(input_ids), noise, is_word, self.window)
        figure_loss = self.figure_loss(figures[figure_mask], pixel_values)
        return word_loss + figure_loss, {"words": word_loss.detach(), "figures": figure_loss.detach()}


class HoledLanguageModel(Pretraining):
    """Trains embedding and content layers to predict each item from the states before and after it.

    Words by cross-entropy, figures by reconstruction. The sentence layer is not trained.

    NOTE: words are decoded with the word embeddings, as in ``pretrain/mlm.py``. Words and figures are averaged
    separately, so that few figures count as much as many words; the paper sums over all positions.
    """

    def __init__(self, model: QuesNetModel, config: QuesNetPretrainingConfig):
        super().__init__(model, config)
        self.share = config.holes
        self.head = MaskedTokenHead(model.config.hidden_size, model.words)
        model.sentence.requires_grad_(False)

    def forward(self, input_ids: Tensor, pixel_values: Tensor, **batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a packed batch, its parts, and the accuracy on words."""
        words, word_mask, figures, figure_mask = self.model.embed(input_ids, pixel_values=pixel_values, **batch)
        items, mask = one_sequence(words, word_mask, figures, figure_mask)
        contexts = hole_contexts(*self.model.content(items, mask))
        chosen = self.is_word(input_ids)
        if self.share < 1:
            chosen = chosen & (torch.rand(chosen.shape, device=chosen.device) < self.share)
        # Words come first, so their positions equal those in the text.
        logits = self.head(contexts[:, : input_ids.shape[1]][chosen], self.model.words.weight)
        word_loss, accuracy = masked_token_prediction(logits, input_ids[chosen])
        behind_words = torch.arange(mask.shape[1], device=mask.device) >= word_mask.sum(1, keepdim=True)
        figure_loss = self.figure_loss(contexts[mask & behind_words], pixel_values)
        logged = {"words": word_loss.detach(), "figures": figure_loss.detach(), "accuracy": accuracy}
        return word_loss + figure_loss, logged


STAGES = {"embedding": EmbeddingPretraining, "holes": HoledLanguageModel}


def main(config: QuesNetPretrainingConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    model = session.build(config, bank)
    if not isinstance(model, QuesNetModel):
        raise ConfigError(f"model.architecture: this recipe trains a quesnet, not a {model.config.model_type}")

    pretraining = STAGES[config.stage](model, config)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=pretraining,
        plan=session.shuffled_batches(config, bank, model),
        views=session.question_views(config, bank, model),
        parts=model.parts,
    )
    for batch in loop:
        loss, logged = loop.trained(**batch.inputs)
        loop.step(loss, logged)
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(QuesNetPretrainingConfig, __doc__))
