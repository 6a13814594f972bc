"""Real banks, where ``TQNET_DATA`` names a folder of them."""

import os
from pathlib import Path

import numpy as np
import pytest

from tqnet.questions import KnowledgeHierarchy, QuestionBank, Similarity, check_bank

DATA = os.environ.get("TQNET_DATA")
BANKS = sorted(path.parent for path in Path(DATA).glob("*/questions.jsonl")) if DATA else []

pytestmark = pytest.mark.skipif(not BANKS, reason="TQNET_DATA names no folder of banks")


@pytest.mark.parametrize("folder", BANKS, ids=lambda folder: folder.name)
def test_a_real_bank_is_read_in_full(folder: Path) -> None:
    report = check_bank(folder, images=False)
    # Different questions under one id are in the data, and are to be found; nothing else is wrong with them.
    assert {fault.field for fault in report.faults} <= {"id"}
    with (folder / "questions.jsonl").open("rb") as stream:
        assert report.questions + report.skipped == sum(1 for _ in stream)


@pytest.mark.parametrize("folder", BANKS, ids=lambda folder: folder.name)
@pytest.mark.filterwarnings("ignore:.*records left out")
def test_all_views_of_a_real_bank_agree(folder: Path) -> None:
    bank = QuestionBank.load(folder, on_error="skip")
    similarity = Similarity.from_groups(bank)
    sample = np.random.default_rng(0).choice(len(bank), size=200, replace=False)
    matrix = similarity.matrix(sample)
    assert (matrix == matrix.T).all()
    for place, index in enumerate(sample[:20]):
        neighbours = similarity.neighbours(index)
        assert (matrix[place] == np.isin(sample, neighbours)).all()
        assert {bank[int(i)].group for i in neighbours} <= {bank[index].group}
    hierarchy = KnowledgeHierarchy.from_bank(bank)
    for level, count in enumerate(hierarchy.class_counts, 1):
        classes, labels = hierarchy.labels(level)
        assert len(classes) == count
        assert set().union(*labels) == set(range(count))
