from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from torch import nn

from tqnet.modeling.model import TQNetModel
from tqnet.questions import Question

TEXTS = (
    "Find the area of the shaded part.",
    r"如图，在 $\triangle ABC$ 中，$AB=AC$，求 $\angle A$。",
    r"Solve $\frac{1}{2}x + 3 = 7$ for $x$, and say how many solutions there are in all.",
    "求面积。",
)


@pytest.fixture
def mixed_questions(draw_figure: Callable[..., str]) -> list[Question]:
    """Eight questions of unlike lengths with 0, 1 and 3 figures, of unlike shapes."""
    figures = [(), (1,), (), (2, 3, 4), (5,), (), (6, 1, 7), ()]
    return [
        Question(
            id=str(i),
            stem=TEXTS[i % 4] * (1 + i // 4),
            options=("$1$", "$x^2$") if i % 3 == 0 else (),
            images=tuple(draw_figure(n, size=(60 + 10 * n, 90)) for n in numbers),
        )
        for i, numbers in enumerate(figures)
    ]


@pytest.fixture
def convolved() -> Callable[[TQNetModel], object]:
    """A context that collects the number of images of each pass through the first convolution."""

    @contextmanager
    def convolved(model: TQNetModel) -> Iterator[list[int]]:
        first = next(m for m in model.modules() if isinstance(m, nn.Conv2d))
        images: list[int] = []
        hook = first.register_forward_hook(lambda _, inputs, __: images.append(len(inputs[0])))
        yield images
        hook.remove()

    return convolved
