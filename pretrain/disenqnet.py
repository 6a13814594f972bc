"""A baseline: concepts and individual content in two halves of a question's vector (DisenQNet, Huang et al. 2021).

    accelerate launch pretrain/disenqnet.py --config configs/small/disenqnet.yaml data.bank=BANK run.out=runs/disenqnet

Three estimators share the encoder. The whole vector tells a question's words from another question's. Its first half,
the concept part, predicts the concepts. A critic tries to tell two halves of one question from halves of two; the
encoder learns to defeat it, so that the second half keeps what the concepts do not say.

NOTE: the paper's encoder is an LSTM with one attention per part. Here the parts are halves of the encoder's output, so
that the baseline shares encoder and model format with all other recipes. The paper represents words by encoder states;
here by word embeddings. The other question is the previous one in the batch, of similar length.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import spectral_norm

from tqnet.config import ConfigError, Count, NonNegative, Positive, parse_config, section, settings
from tqnet.hub.card import write_card
from tqnet.libraries import to_device
from tqnet.losses.prediction import concept_classification, mutual_information
from tqnet.modeling.encoder import QuestionEncoder
from tqnet.questions import KnowledgeHierarchy
from tqnet.training import session
from tqnet.training.config import OptimConfig, RecipeConfig, RunConfig
from tqnet.training.labels import ConceptLabels, class_head, training_knowledge
from tqnet.training.loop import TrainingLoop
from tqnet.training.processes import weight_of_mean


@settings
class DisenQNetConfig(RecipeConfig):
    """Settings of the stage."""

    optim: OptimConfig = section(OptimConfig, lr=3e-4, text_lr=5e-5)
    run: RunConfig = section(RunConfig, out="runs/disenqnet")
    level: Count | None = None
    """Level of the knowledge hierarchy that the first half predicts; null for the finest. The paper has none."""
    information_weight: NonNegative = 1.0
    """Weight of the loss that ties the whole vector to the question's words."""
    concept_weight: NonNegative = 1.0
    """Weight of the concept classification loss."""
    dependence_weight: NonNegative = 1.0
    """Weight of the loss that makes the two halves independent."""
    critic_steps: Count = 5
    """Steps of the critic per batch."""
    critic_lr: Positive = 1e-3
    """Learning rate of the critic."""


class DisentangledEncoder(nn.Module):
    """The encoder with the estimators trained along with it."""

    def __init__(self, model: QuestionEncoder, labels: ConceptLabels):
        super().__init__()
        width = model.config.hidden_size
        self.model = model
        self.words = nn.Linear(model.get_input_embeddings().embedding_dim, width, bias=False)
        self.concepts = class_head(width // 2, labels, softmax=not labels.multi_label)

    def forward(self, **batch: Tensor) -> dict[str, Tensor]:
        """Return the outputs for the estimators from a packed batch.

        Returns:
            ``concept`` and ``individual`` [b, h/2], the halves; ``logits`` [b, concepts]; ``joint`` and ``product``
            [b, t], the scores T(w, v) of each word for its question and for the previous question in the batch.
        """
        vectors = F.normalize(self.model(**batch).embedding.float(), dim=-1) * math.sqrt(self.words.out_features)
        concept, individual = vectors.chunk(2, dim=1)
        words = self.words(self.model.get_input_embeddings()(batch["input_ids"])) / math.sqrt(self.words.out_features)
        joint, product = (torch.einsum("bth,bh->bt", words, v.to(words.dtype)) for v in (vectors, vectors.roll(1, 0)))
        return {
            "concept": concept,
            "individual": individual,
            "logits": self.concepts(concept),
            "joint": joint,
            "product": product,
        }


class Critic(nn.Module):
    """The critic D(v_k, v_i), 1-Lipschitz by spectral normalisation (Miyato et al. 2018).

    Its state includes that of its own optimizer.
    """

    def __init__(self, width: int, lr: float):
        super().__init__()
        layers = (spectral_norm(nn.Linear(width, width)), nn.LeakyReLU(0.2), spectral_norm(nn.Linear(width, 1)))
        self.layers = nn.Sequential(*layers)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=lr, betas=(0.5, 0.9))

    def forward(self, concept: Tensor, individual: Tensor) -> Tensor:
        """Score pairs of halves [b, h/2]: [b]."""
        return self.layers(torch.cat([concept, individual], 1)).squeeze(1)

    def dependence(self, concept: Tensor, individual: Tensor) -> Tensor:
        """Estimate the Wasserstein distance between matched and mismatched halves, which the critic maximises::

        mean D(v_k, v_i) - mean D(v_k, v_i'),  v_i' from the previous question
        """
        return self(concept, individual).mean() - self(concept, individual.roll(1, 0)).mean()

    def improve(self, concept: Tensor, individual: Tensor, steps: int, accelerator: Accelerator) -> None:
        """Train the critic for ``steps`` steps, with gradients averaged over processes."""
        self.train().requires_grad_(True)
        for _ in range(steps):
            self.optimizer.zero_grad()
            (-self.dependence(concept.detach(), individual.detach())).backward()
            for parameter in self.parameters():
                parameter.grad = accelerator.reduce(parameter.grad, "mean")
            self.optimizer.step()
        self.eval().requires_grad_(False)  # frozen during the encoder's step

    def get_extra_state(self) -> dict[str, Any]:
        return self.optimizer.state_dict()

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)


def main(config: DisenQNetConfig) -> Path:
    accelerator = session.start(config.run)
    bank = session.training_questions(config.data, pretraining=True)
    if config.run.batch_size < 2 * accelerator.num_processes:
        raise ConfigError(
            f"run.batch_size: {config.run.batch_size} is too small: every process needs two questions to compare"
        )
    hierarchy = KnowledgeHierarchy(training_knowledge(bank))
    if not hierarchy.depth:
        raise ConfigError(f"data.bank: no training question of {config.data.bank} has a knowledge point")
    labels = ConceptLabels(hierarchy, hierarchy.depth if config.level is None else config.level)
    model = session.build(config, bank)
    if model.config.hidden_size % 2:
        raise ConfigError(f"model: a vector of odd width {model.config.hidden_size} cannot be halved")

    encoder = DisentangledEncoder(model, labels)
    critic = Critic(model.config.hidden_size, config.critic_lr)
    loop = TrainingLoop(
        accelerator,
        config,
        model=model,
        trained=encoder,
        state={"critic": critic},
        plan=session.shuffled_batches(config, bank, model),
        views=session.question_views(config, bank, model),
        parts=model.parts,
        evaluate=session.validation(config, model),
    )
    special = torch.tensor(model.processor.tokenizer.all_special_ids, device=loop.device)
    for batch in loop:
        outputs = loop.trained(**batch.inputs)
        critic.improve(outputs["concept"], outputs["individual"], config.critic_steps, accelerator)
        is_word = ~torch.isin(batch.inputs["input_ids"], special)
        concepts = to_device(labels.indicators(batch.index.numpy()), loop.device)
        information = mutual_information(outputs["joint"], outputs["product"], is_word)
        prediction = concept_classification(outputs["logits"], concepts, labels.multi_label)
        losses = {
            "information": weight_of_mean(accelerator, is_word.sum()) * information,
            "concept": weight_of_mean(accelerator, concepts.any(1).sum()) * prediction,
            "dependence": critic.dependence(outputs["concept"], outputs["individual"]),
        }
        loss = torch.stack([getattr(config, f"{name}_weight") * term for name, term in losses.items()]).sum()
        loop.step(loss, {f"loss/{name}": term.detach() for name, term in losses.items()})
    return loop.finish(write_card)


if __name__ == "__main__":
    with session.clear_errors():
        main(parse_config(DisenQNetConfig, __doc__))
