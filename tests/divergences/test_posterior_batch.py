"""Many sequences in one call."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import ImpossibleEvidence, IncompatibleModels, InvalidEvidence


def random_model(rng: np.random.Generator, states: int, emission: str, with_end: bool = False) -> hd.Model:
    rows = rng.dirichlet(np.ones(states + 1), states)
    families = {
        "categorical": lambda: hd.Categorical(rng.dirichlet(np.ones(4), states)),
        "gaussian": lambda: hd.Gaussian(rng.normal(size=(states, 2)), std=rng.uniform(0.5, 2, (states, 2))),
    }
    transition = rows[:, :-1] if with_end else rng.dirichlet(np.ones(states), states)
    return hd.Model(
        rng.dirichlet(np.ones(states)), transition, families[emission](), end=rows[:, -1] if with_end else None
    )


def sequences(rng: np.random.Generator, emission: str) -> list[np.ndarray]:
    lengths = [1, 2, 3, 7, 8, 9, 31, 1, 60]
    if emission == "categorical":
        return [rng.integers(0, 4, n) for n in lengths]
    return [rng.normal(size=(n, 2)) for n in lengths]


@pytest.mark.parametrize("with_end", [False, True])
@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
@pytest.mark.parametrize("states", [2, 3, 4, 5, 16])
def test_equals_one_at_a_time(states: int, emission: str, with_end: bool) -> None:
    rng = np.random.default_rng(states)
    p, q = (random_model(rng, states, emission, with_end) for _ in range(2))
    x = sequences(rng, emission)
    one_by_one = [hd.posterior_kl(p, q, sequence).value for sequence in x]
    assert hd.posterior_kl_batch(p, q, x) == pytest.approx(one_by_one, rel=1e-12)
    stacked = hd.posterior_kl_batch(p, q, np.concatenate(x), [len(sequence) for sequence in x])
    assert stacked.tolist() == hd.posterior_kl_batch(p, q, x).tolist()


@pytest.mark.parametrize("states", [2, 4, 7])
def test_the_number_of_threads_changes_no_bit(states: int) -> None:
    rng = np.random.default_rng(1)
    p, q = (random_model(rng, states, "categorical") for _ in range(2))
    x = [rng.integers(0, 4, n) for n in rng.integers(1, 20, 40)]
    results = [hd.posterior_kl_batch(p, q, x, threads=threads).tobytes() for threads in (1, 2, 3)]
    assert len(set(results)) == 1
    assert hd.posterior_kl_batch(p, q, x).tobytes() == results[0]


def test_infinite_sequences_stand_among_finite_ones() -> None:
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[0.5, 0.5], [0.25, 0.75]]))
    q = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[1.0, 0.0], [0.25, 0.75]]))
    found = hd.posterior_kl_batch(p, q, [[0, 0], [0, 1], [0]])
    assert np.isinf(found).tolist() == [False, True, False]


def test_refusals_name_the_sequence() -> None:
    p = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical([[0.5, 0.5, 0], [0.25, 0.75, 0]]), name="two")
    q = hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], hd.Categorical(np.full((2, 3), 1 / 3)))
    with pytest.raises(ImpossibleEvidence, match=r"^sequence 1, node 2: p \('two'\) gives the evidence"):
        hd.posterior_kl_batch(p, q, [[0, 1], [0, 1, 2]])
    for x, lengths, said in (
        ([], None, "x: must be a non-empty list"),
        ([[0], []], None, r"x\[1\]: a sequence has at least one row, got 0"),
        ([[0], [[0, 1]]], None, r"x\[1\]: must have the columns of the first sequence"),
        ([0, 1, 1], [1, 1], "lengths: must add up to the 3 rows of x, got 2"),
        ([0, 1], [2, 0], r"lengths\[1\]: a sequence has at least one row"),
        ([0, 1], [0.5, 1.5], "lengths: must be a list of whole numbers"),
        ([[0, 7]], None, r"x\[1\]: categorical observations are whole numbers"),
    ):
        with pytest.raises(InvalidEvidence, match=said):
            hd.posterior_kl_batch(p, q, x, lengths)
    grouped = hd.Model([0.5, 0.5], [np.eye(2), np.eye(2)], q.emission)
    with pytest.raises(IncompatibleModels, match="one group"):
        hd.posterior_kl_batch(grouped, grouped, [[0, 1]])
