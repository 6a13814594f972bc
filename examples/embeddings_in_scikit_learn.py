"""Embeddings in scikit-learn: predict the coarsest knowledge point of a question from its vector.

    python examples/embeddings_in_scikit_learn.py MODEL BANK

MODEL is a trained folder, such as runs/demo/scl/model; BANK has questions of splits train and test with `knowledge`.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tqnet.modeling.build import load_model
from tqnet.questions import load_bank


def main(model_folder: str, bank_path: str) -> None:
    model = load_model(model_folder)
    bank = load_bank(bank_path)
    vectors, labels = {}, {}
    for split in ("train", "test"):
        questions = [question for question in bank.split(split) if question.knowledge]
        vectors[split] = np.asarray(model.encode(questions))  # [n, width]
        labels[split] = [question.knowledge[0][0] for question in questions]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(vectors["train"], labels["train"])
    predicted = classifier.predict(vectors["test"])
    score = f1_score(labels["test"], predicted, average="macro")
    print(f"{len(labels['train'])} questions, {len(set(labels['train']))} concepts: macro F1 {score:.3f} on test")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
