"""Stage 1: masked language modelling on the bank's text (TQ-Net, Figure 2, step 1).

    accelerate launch pretrain/mlm.py --config configs/demo/mlm.yaml run.out=runs/mlm

The text encoder learns the bank's words and formulas. Masks cover whole words and whole formula tokens.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor, nn
from transformers import PreTrainedModel

from tqnet.config import ConfigError, ProperShare, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.losses.prediction import masked_token_prediction
from tqnet.modeling.heads import MaskedTokenHead
from tqnet.modeling.lengths import one_part
from tqnet.modeling.model import TQNetModel
from tqnet.modeling.text_encoders import word_embeddings
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.data import MaskTokens
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import weight_of_mean


@settings
class MLMConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=1e-3, text_lr=5e-5)
    run: RunConfig = section(RunConfig, out="runs/mlm")
    mask: ProperShare = 0.15
    """Share of words and formula tokens to mask."""


class MaskedLanguageModel(nn.Module):
    """The text encoder with a masked-token head that decodes with the word embeddings."""

    def __init__(self, text: PreTrainedModel):
        super().__init__()
        self.text = text
        self.head = MaskedTokenHead(text.config.hidden_size, word_embeddings(text))

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, masked: Tensor, tokens: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the mean cross-entropy over masked tokens, and the accuracy.

        Args:
            input_ids, attention_mask: [b, t].
            masked, tokens: [m], masked places among all b * t, and the true tokens there.
        """
        hidden = self.text(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        logits = self.head(hidden.flatten(0, 1)[masked], self.text.get_input_embeddings().weight)
        return masked_token_prediction(logits, tokens)


def main(config: MLMConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    model = session.build(config, bank)
    if not isinstance(model, TQNetModel):
        raise ConfigError(f"model: a {model.config.model_type} has no text encoder to train on masked words")

    mask = MaskTokens(model.processor, config.mask, config.run.seed)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=MaskedLanguageModel(model.text),
        plan=session.shuffled_batches(config, bank, model, read_images=False),
        views=session.question_views(config, bank, model, prepare=mask, read_images=False),
        parts=one_part,  # the text stream reads a batch as one part
    )
    for batch in loop:
        loss, accuracy = loop.trained(**batch.text, **batch.extras)
        loop.step(weight_of_mean(accelerator, len(batch.extras["tokens"])) * loss, {"accuracy": accuracy})
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(MLMConfig, __doc__))
