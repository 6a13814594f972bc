"""Fine-tune for knowledge points end to end (TQ-Net, Table 5, rows with an unfrozen encoder).

    accelerate launch finetune/knowledge.py --config configs/small/knowledge.yaml data.bank=BANK \\
        model.start=runs/moco/model run.out=runs/knowledge

Trains the encoder with a linear classifier per level of the hierarchy, and keeps only the encoder.
``finetune/probe.py`` and ``tqnet evaluate probe`` fit their own classifiers to its vectors, as for any model.
"""

from __future__ import annotations

import logging
from dataclasses import field
from pathlib import Path

import torch
from torch import Tensor, nn

from tqnet.augment.view import AugmentConfig
from tqnet.config import ConfigError, Count, parse_config, section, settings
from tqnet.evaluation.linear_probe import decide, probabilities
from tqnet.evaluation.metrics import micro_f1
from tqnet.hub.card import write_card
from tqnet.libraries import precision, to_device
from tqnet.losses.prediction import concept_classification
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import KnowledgeHierarchy
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.labels import ConceptLabels, class_head
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import encode_in_shares, weight_of_mean

log = logging.getLogger(__name__)


@settings
class KnowledgeConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=1e-3, text_lr=5e-5)
    run: RunConfig = section(RunConfig, out="runs/knowledge")
    augment: AugmentConfig = section(AugmentConfig, mask=0.0, window=1.0, images="none")
    levels: list[Count] = field(default_factory=list)
    """Levels of the knowledge hierarchy to predict, 1 for the coarsest; an empty list for all."""

    def __post_init__(self) -> None:
        if len(set(self.levels)) < len(self.levels):
            raise ConfigError(f"levels: {self.levels} names a level twice")


class KnowledgeClassifier(nn.Module):
    """The encoder with a linear classifier per level.

    Args:
        levels: Labels of each classifier, in the order of the logits.
    """

    def __init__(self, model: QuestionEncoder, levels: list[ConceptLabels]):
        super().__init__()
        self.model = model
        width = model.config.hidden_size
        self.heads = nn.ModuleList(class_head(width, labels, not labels.multi_label) for labels in levels)

    def forward(self, **batch: Tensor) -> list[Tensor]:
        """Return logits [b, classes] of each level for a packed batch (see :meth:`TQNetModel.forward`)."""
        return self.classify(self.model(**batch).embedding)

    def classify(self, vectors: Tensor) -> list[Tensor]:
        """Return logits [b, classes] of each level for vectors [b, h]."""
        return [head(vectors) for head in self.heads]


class ValidationF1:
    """Micro F1 on ``valid``; that of the finest level chooses the best state."""

    def __init__(self, classifier: KnowledgeClassifier, levels: list[ConceptLabels], config: RecipeConfig):
        self.bank = config.data.load().split("valid")
        self.classifier, self.precision = classifier, precision(config.run.precision)
        truth = [labels.indicators_of(self.bank) for labels in levels]
        #: Classifier number -> labels of its level and indicators of ``valid``; finest first.
        self.levels = {i: (levels[i], truth[i]) for i in reversed(range(len(levels))) if truth[i].any()}

    @torch.no_grad()
    def __call__(self) -> dict[str, float]:
        model = self.classifier.model
        vectors = torch.from_numpy(encode_in_shares(model, self.bank, device=model.device, precision=self.precision))
        logits = self.classifier.classify(vectors.to(model.device))
        scores = {}
        for i, (labels, truth) in self.levels.items():
            labelled = truth.any(1)
            chance = probabilities(logits[i].cpu().numpy(), labels.multi_label)
            predicted = decide(chance, 0.5 if labels.multi_label else None)
            scores[f"valid/f1_level_{labels.level}"] = micro_f1(truth[labelled], predicted[labelled])
        return scores


def main(config: KnowledgeConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=False)
    hierarchy = KnowledgeHierarchy.from_bank(bank)
    if not hierarchy.depth:
        raise ConfigError(f"data.bank: no training question of {config.data.bank} has a knowledge point")
    levels = [ConceptLabels(hierarchy, level) for level in sorted(config.levels or range(1, hierarchy.depth + 1))]
    model = session.build(config, bank)

    classifier = KnowledgeClassifier(model, levels)
    validation = ValidationF1(classifier, levels, config)
    if not validation.levels:
        log.info("no question of split 'valid' has a concept of train: the last state is kept, not the best")
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=classifier,
        plan=session.shuffled_batches(config, bank, model),
        views=session.question_views(config, bank, model, config.augment),
        parts=model.parts,
        evaluate=validation if validation.levels else None,
    )
    for batch in loop:
        losses = {}
        for labels, logits in zip(levels, loop.trained(**batch.inputs), strict=True):
            concepts = to_device(labels.indicators(batch.index.numpy()), loop.device)
            loss = concept_classification(logits, concepts, labels.multi_label)
            losses[f"level_{labels.level}"] = weight_of_mean(accelerator, concepts.any(1).sum()) * loss
        loop.step(torch.stack(list(losses.values())).mean(), {name: loss.detach() for name, loss in losses.items()})
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(KnowledgeConfig, __doc__))
