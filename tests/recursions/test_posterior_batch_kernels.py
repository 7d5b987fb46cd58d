"""Many sequences at once: the numbers of each alone, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.recursions import posterior_truth as truth


@pytest.mark.parametrize("apart", [None, 1e-6])
@pytest.mark.parametrize("states", [1, 2, 3, 4, 5, 8, 9, 13, 16, 17])
def test_each_as_if_alone(kernels, states, apart):
    rng = np.random.default_rng(states)
    lengths = rng.integers(1, 40, 70 if kernels.is_compiled else 12)
    start = np.concatenate([[0], np.cumsum(lengths)])
    made = truth.problem(rng, int(start[-1]), states, 3, apart)
    _, (_, _, row_of), *rest = truth.arrays(made)
    values, found = kernels.posterior_sequences(start, (None, None, row_of), *rest, None)
    assert (found == -1).all()
    for i in range(len(lengths)):
        part = row_of[start[i] : start[i + 1]].copy()
        alone = kernels.posterior_value(int(lengths[i]), (None, None, part), *rest, None, False)
        assert np.allclose(values[i], alone[:3], rtol=1e-12, atol=0.0)
    for threads in (1, 2, 3):
        again, _ = kernels.posterior_sequences(start, (None, None, row_of), *rest, None, threads)
        assert np.array_equal(again, values)


def test_rows_of_their_own(kernels):
    rng = np.random.default_rng(1)
    start = np.array([0, 10, 11, 40])
    made = truth.problem(rng, 40, 3, 4, 1e-3)
    _, (_, _, row_of), p, q, ratio = truth.arrays(made)
    spread = [(law[0], law[1], law[2][row_of].copy()) for law in (p, q, ratio)]
    by_row, _ = kernels.posterior_sequences(start, (None, None, None), *spread, None)
    by_symbol, _ = kernels.posterior_sequences(start, (None, None, row_of), p, q, ratio, None)
    assert np.allclose(by_row, by_symbol, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("apart", [None, 1e-6])
@pytest.mark.parametrize("states", [2, 3, 6, 10, 16])
def test_many_rows_of_their_own(kernels, states, apart):
    rng = np.random.default_rng(states)
    start = np.arange(0, 4500 if kernels.is_compiled else 60, 30)  # above 4,096 rows weights are not made beforehand
    made = truth.problem(rng, int(start[-1]), states, 4, apart)
    _, (_, _, row_of), p, q, ratio = truth.arrays(made)
    spread = [(law[0], law[1], law[2][row_of].copy()) for law in (p, q, ratio)]
    by_row, _ = kernels.posterior_sequences(start, (None, None, None), *spread, None)
    by_symbol, _ = kernels.posterior_sequences(start, (None, None, row_of), p, q, ratio, None)
    assert np.allclose(by_row, by_symbol, rtol=1e-12, atol=0.0)


def test_one_bad_sequence_spoils_no_other(kernels):
    made = truth.problem(np.random.default_rng(2), 30, 2, 3, None)
    made.row_of[:] = 0
    made.row_of[14] = 1
    made.p[2][:, 1] = 0.0
    made.p[2] /= made.p[2].sum(axis=1, keepdims=True)
    _, (_, _, row_of), *rest = truth.arrays(made)
    values, found = kernels.posterior_sequences(np.array([0, 10, 20, 30]), (None, None, row_of), *rest, None)
    assert found[:, 3].tolist() == [-1, 4, -1]
    assert np.isfinite(values[[0, 2], 0]).all()
    assert values[0, 0] == values[2, 0]
