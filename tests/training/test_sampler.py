import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tqnet.questions import Question, QuestionBank, Similarity
from tqnet.training.sampler import GroupBatches, LocalBatches, ShuffledBatches, key_permutation, unshuffle


def grouped(*sizes: int, lone: int = 0) -> Similarity:
    """Groups of these sizes, then ``lone`` questions without any similar one."""
    groups = [f"g{number}" for number, size in enumerate(sizes) for _ in range(size)]
    names = [*groups, *[None] * lone]
    return Similarity.from_groups(
        QuestionBank.from_questions(Question(id=str(i), stem="x", group=group) for i, group in enumerate(names))
    )


def by_pairs(similarity: Similarity, folder: Path) -> Similarity:
    """The same relation from a pairs file."""
    n = len(similarity)
    rows = [{"a": str(i), "b": str(j), "similar": 1} for i in range(n) for j in similarity.neighbours(i) if i < j]
    file = folder / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Similarity.from_pairs(file, QuestionBank.from_questions(Question(id=str(i), stem="x") for i in range(n)))


def plan_of(similarity: Similarity, batch_size: int = 8, seed: int = 0, **options: object) -> GroupBatches:
    lengths = np.random.default_rng(5).integers(8, 200, len(similarity))
    return GroupBatches(similarity, lengths, batch_size, seed, **options)  # type: ignore[arg-type]


@given(n=st.integers(1, 300), batch_size=st.integers(1, 20), seed=st.integers(0, 5))
@settings(deadline=None)
def test_shuffled_batches(n: int, batch_size: int, seed: int) -> None:
    lengths = np.random.default_rng(0).integers(4, 99, n)
    plan = ShuffledBatches(lengths, batch_size, seed)
    batches = plan.epoch(3)
    assert len(batches) == len(plan) == n // batch_size
    assert all(len(batch) == batch_size for batch in batches)
    drawn = np.concatenate([lengths[:0], *batches])
    assert len(np.unique(drawn)) == len(drawn)
    again = ShuffledBatches(lengths, batch_size, seed).epoch(3)
    assert np.array_equal(batches, again)


def test_epochs_and_seeds_differ() -> None:
    lengths = np.arange(100)
    epochs = [ShuffledBatches(lengths, 10, seed).epoch(epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert len({np.concatenate(epoch).tobytes() for epoch in epochs}) == 4
    # What a run leaves out changes from epoch to epoch.
    left_out = [set(range(13)) - set(np.concatenate(ShuffledBatches(np.ones(13), 10, 0).epoch(e))) for e in range(9)]
    assert len(set().union(*left_out)) > 3


def test_like_lengths_come_together() -> None:
    """Padding below 15 % on lengths as questions have them; at random it would be twofold.

    On a processor the model passes 32 rows of like length at a time, which groups of unlike lengths need.
    """
    lengths = np.clip(np.random.default_rng(0).lognormal(4, 0.6, 5000), 5, 256).astype(int)

    def padding(batches: list[np.ndarray]) -> float:
        parts = [np.sort(lengths[b])[i : i + 32] for b in batches for i in range(0, len(b), 32)]
        return sum(len(part) * part.max() for part in parts) / sum(part.sum() for part in parts)

    assert padding(ShuffledBatches(lengths, 32, 0).epoch(0)) < 1.15
    assert padding(list(np.random.default_rng(0).permutation(4992).reshape(-1, 32))) > 2
    # Clusters tie questions of other lengths to one another.
    unlike = np.repeat(lengths[:800], 5) * np.random.default_rng(1).uniform(0.5, 2, 4000)
    plan = GroupBatches(grouped(*[5] * 800, lone=1000), np.append(unlike.astype(int), lengths[4000:]), 128, 0)
    lengths = plan.lengths
    assert padding(plan.epoch(0)) < 1.15
    at_random = np.random.default_rng(0).permutation(len(lengths) // 128 * 128).reshape(-1, 128)
    assert padding(list(at_random)) > 1.2


@pytest.mark.parametrize("members", [2, 3])
@pytest.mark.parametrize("kind", ["groups", "pairs"])
def test_group_batches(kind: str, members: int, tmp_path: Path) -> None:
    similarity = grouped(2, 3, 4, 5, 6, 7, 8, 2, 3, 5, 9, 2, 3, lone=30)
    if kind == "pairs":
        similarity = by_pairs(similarity, tmp_path)
    plan = plan_of(similarity, batch_size=10, members=members, lone=0.2)
    for epoch in range(4):
        batches = plan.epoch(epoch)
        assert len(batches) == len(plan)
        assert all(len(np.unique(batch)) == len(batch) == 10 for batch in batches)
        clusters = plan.clusters(np.random.default_rng([0, epoch]))
        for cluster in clusters:
            size = len(cluster)
            assert 2 <= size <= members
            assert (similarity.matrix(cluster) == ~np.eye(size, dtype=bool)).all()
        assert np.array_equal(np.unique(np.concatenate(clusters)), plan.seeds)
        # Only what is in the clusters that no batch has room for may be left out.
        dropped = len(clusters) - len(plan) * plan.clusters_per_batch
        assert 0 <= dropped < plan.clusters_per_batch
        missed = np.setdiff1d(plan.seeds, np.concatenate(batches))
        assert len(missed) <= dropped * members
        for batch in batches:
            assert np.isin(batch, plan.alone).sum() >= 2
            paired = similarity.matrix(batch).any(1)
            assert paired.sum() >= 2 * plan.clusters_per_batch - members
    assert np.array_equal(plan.epoch(1), plan_of(similarity, batch_size=10, members=members, lone=0.2).epoch(1))
    assert not np.array_equal(plan.epoch(1), plan.epoch(2))


@pytest.mark.parametrize(("lone", "alone"), [(0.0, 40), (0.25, 40), (0.5, 40), (0.25, 3), (0.1, 0)])
def test_share_of_lone_questions(lone: float, alone: int) -> None:
    plan = plan_of(grouped(*[4] * 20, lone=alone), batch_size=16, lone=lone)
    wanted = min(round(16 * lone), alone)
    counts = [np.isin(batch, plan.alone).sum() for epoch in range(3) for batch in plan.epoch(epoch)]
    assert min(counts) >= wanted
    assert np.mean(counts) <= wanted + 1.5  # random questions in free places may be lone ones
    if alone == 40 and lone:  # all have their turn
        assert len(set(np.concatenate([*plan.epoch(0), *plan.epoch(1)])) & set(plan.alone)) > 0.7 * alone


def test_blocks_are_of_one_concept() -> None:
    similarity = grouped(*[4] * 60)
    concepts = np.arange(240) // 4 % 6
    lengths = np.ones(240, dtype=int)

    def kinds(block: int) -> float:
        plan = GroupBatches(similarity, lengths, 16, 0, lone=0, concepts=concepts, block=block)
        return float(np.mean([len(np.unique(concepts[batch])) for epoch in range(3) for batch in plan.epoch(epoch)]))

    assert kinds(4) < 3.2 < 4 < kinds(1)


@pytest.mark.parametrize(
    ("similarity", "options", "message"),
    [
        (grouped(3, 2, lone=4), {"batch_size": 64}, r"^run\.batch_size: 5 questions .* of 9, .* batch of 64$"),
        (grouped(lone=50), {}, r"^run\.batch_size: 0 questions with a similar one"),
        (grouped(2, 2, lone=3), {"batch_size": 8}, r"too few for a batch of 8"),
        (grouped(4, 4), {"batch_size": 2, "members": 3}, r"^run\.batch_size: 2 has no room for a cluster of 3$"),
    ],
)
def test_too_small(similarity: Similarity, options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan_of(similarity, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("views", [1, 2])
def test_local_batches(world: int, views: int) -> None:
    plan = ShuffledBatches(np.arange(50) % 7, 8, seed=3)
    total = 3 * len(plan)

    def local(rank: int, start: int) -> list[list[tuple[int, int, int]]]:
        batches = LocalBatches(plan, start, total, rank, world, views, seed=9)
        assert len(batches) == total - start
        return list(batches)

    ranks = [local(rank, 0) for rank in range(world)]
    for step in range(total):
        epoch, place = divmod(step, len(plan))
        expected = plan.epoch(epoch)[place]
        share = 8 // world
        queries = [item for rank in ranks for item in rank[step][:share]]
        assert queries == [(epoch, int(i), 0) for i in expected]
        if views == 2:
            keys = [item for rank in ranks for item in rank[step][share:]]
            assert [item[0] for item in keys] == [epoch] * 8
            assert [item[2] for item in keys] == [1] * 8
            encoded = np.array([item[1] for item in keys])
            assert np.array_equal(encoded[unshuffle(8, 9, step)], expected)
    for start in (1, len(plan), len(plan) + 2, total):
        assert [local(rank, start) for rank in range(world)] == [rank[start:] for rank in ranks]


@given(size=st.integers(1, 200), seed=st.integers(0, 9), step=st.integers(0, 10**6))
def test_unshuffle_undoes_the_permutation(size: int, seed: int, step: int) -> None:
    keys = np.random.default_rng(1).random(size)
    assert np.array_equal(keys[key_permutation(size, seed, step)][unshuffle(size, seed, step)], keys)
