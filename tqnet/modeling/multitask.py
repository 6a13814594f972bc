"""The encoder with the heads of multi-task pre-training (FSE, Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn import functional as F

from tqnet.modeling.heads import MaskedTokenHead, OrderHead
from tqnet.modeling.model import TQNetModel

#: What is computed of a question's vector; figures are compared with the vector of its text alone.
_OF_THE_VECTOR = {"solution", "type", "difficulty", "knowledge"}


class MultiTaskModel(nn.Module):
    """Passes the views of a question that its tasks ask for, and no more.

    Args:
        tasks: Of ``words``, ``order``, ``solution``, ``figures`` and those of ``heads``.
        heads: Classification -> its head on a question's vector.
    """

    def __init__(self, model: TQNetModel, tasks: set[str], heads: Mapping[str, nn.Module]):
        super().__init__()
        self.model = model
        width = model.config.hidden_size
        self.words = MaskedTokenHead(width, model.text.config.vocab_size) if "words" in tasks else None
        self.order = OrderHead(width) if "order" in tasks else None
        self.figures = nn.Linear(width, width) if "figures" in tasks else None
        self.labels, self.heads = list(heads), nn.ModuleList(heads.values())
        # DDP waits for the gradients of all that is trained.
        if model.config.fusion == "coordinated" and not tasks & _OF_THE_VECTOR:
            model.fusion.requires_grad_(False)
        if model.config.reads_images and not tasks & {*_OF_THE_VECTOR, "figures"}:
            model.visual.requires_grad_(False)

    def forward(
        self,
        content: dict[str, Tensor] | None = None,
        segments: dict[str, Tensor] | None = None,
        solution: dict[str, Tensor] | None = None,
        masked: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """What the tasks compare, of packed views as :meth:`TQNetModel.forward` takes them.

        Args:
            masked: bool [b, t], the places of ``segments`` whose tokens are to be guessed.

        Returns:
            Logits ``words`` [m, vocabulary], ``order`` [b, 2], and of each classification [b, classes]. Unit vectors
            ``content`` (e^s of Eq. 1) and ``solution`` (e^a) [b, h]; ``text`` [b, h], e^s without figures; ``figures``
            [b, f, h] (h^I of Eq. 3), f the most that the model reads of a question.
        """
        found: dict[str, Tensor] = {}
        if segments is not None:
            found |= self._of_segments(segments["input_ids"], segments["attention_mask"], masked)
        if content is not None:
            found |= self._of_content(content)
        if solution is not None:
            found["solution"] = _unit(self.model(**solution).embedding)
        return found

    def _of_segments(self, input_ids: Tensor, attention_mask: Tensor, masked: Tensor | None) -> dict[str, Tensor]:
        states = self.model.text(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        found = {}
        if self.words is not None:
            found["words"] = self.words(states[masked], self.model.get_input_embeddings().weight)
        if self.order is not None:
            found["order"] = self.order(states[:, 0])
        return found

    def _of_content(self, content: dict[str, Tensor]) -> dict[str, Tensor]:
        output = self.model(**content)
        found = {name: head(output.embedding) for name, head in zip(self.labels, self.heads, strict=True)}
        found["content"] = _unit(output.embedding)
        if self.figures is not None:
            figures = output.figure_embeddings
            missing = self.model.config.max_images - figures.shape[1]  # as many rows on every process
            found["text"] = _unit(output.text_embedding)
            found["figures"] = _unit(self.figures(F.pad(figures, (0, 0, 0, missing))))
        return found


def _unit(vectors: Tensor) -> Tensor:
    return F.normalize(vectors.float(), dim=-1)
