"""Sums over powers and long-run laws against 50 digits, on the chains that break other ways."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from hidiv.recursions.gth import absorbed, cesaro_law, closed_classes, stationary, visits_until_end
from hidiv.recursions.powers import log_row_sums, mean_law, power, summed_powers

SEED = np.random.default_rng(5)
CHAINS = {
    "generic": SEED.dirichlet(np.ones(3), 3),
    "periodic": np.roll(np.eye(3), 1, axis=1),
    "nearly decomposable": (1 - 2e-12) * np.eye(3) + 1e-12 * (1 - np.eye(3)),
    "defective": np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]),
    "two classes": np.array([[0.5, 0.25, 0.25], [0, 1, 0], [0, 0, 1.0]]),
    "slowly transient": np.array([[1 - 2.0**-40, 2.0**-40, 0], [0, 0.5, 0.5], [0, 0.25, 0.75]]),
}
INITIAL = np.array([0.5, 0.25, 0.25])


def exact(matrix: np.ndarray) -> mp.matrix:
    """Rows that sum to one in 60 digits."""
    whole = mp.matrix(matrix.tolist())
    for i in range(whole.rows):
        total = mp.fsum(whole[i, j] for j in range(whole.cols))
        for j in range(whole.cols):
            whole[i, j] /= total
    return whole


def true_sum(transition: mp.matrix, terms: int) -> mp.matrix:
    """I + T + ... + T^(terms-1) by doubling in 60 digits."""
    total, ahead = mp.zeros(3), mp.eye(3)
    block, square = mp.eye(3), transition
    while terms:
        if terms & 1:
            total, ahead = total + ahead * block, ahead * square
        block, square, terms = block + square * block, square * square, terms >> 1
    return total


@pytest.mark.parametrize("length", [1, 2, 7, 1000, 10**6, 10**12])
@pytest.mark.parametrize("name", CHAINS)
def test_chain_sums(name: str, length: int) -> None:
    with mp.workdps(60):
        total = true_sum(exact(CHAINS[name]), length)
        law = mp.matrix([INITIAL.tolist()]) * total / length
        column = total * mp.matrix([1, 2, 5])
        expected = [float(law[0, j]) for j in range(3)], [float(column[i]) for i in range(3)]
    assert mean_law(INITIAL, CHAINS[name], 1, length) == pytest.approx(expected[0], rel=1e-14, abs=1e-300)
    assert summed_powers(CHAINS[name], np.array([1.0, 2.0, 5.0]), length) == pytest.approx(expected[1], rel=1e-14)


@pytest.mark.parametrize(("children", "depth"), [(2, 1), (2, 2), (2, 9), (3, 40), (4, 11), (2, 500)])
@pytest.mark.parametrize("name", CHAINS)
def test_regular_trees(name: str, children: int, depth: int) -> None:
    with mp.workdps(60):
        law, total, weight = mp.matrix([INITIAL.tolist()]), mp.zeros(1, 3), mp.mpf(1)
        transition, nodes = exact(CHAINS[name]), mp.mpf(0)
        for _ in range(depth):
            total, nodes = total + weight * law, nodes + weight
            law, weight = law * transition, weight * children
        expected = [float(total[0, j] / nodes) for j in range(3)]
    assert mean_law(INITIAL, CHAINS[name], children, depth) == pytest.approx(expected, rel=1e-14, abs=1e-300)


def test_any_depth_costs_the_same() -> None:
    assert mean_law(INITIAL, CHAINS["generic"], 2, 10**12).sum() == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("name", CHAINS)
def test_power(name: str) -> None:
    with mp.workdps(60):
        truth = exact(CHAINS[name]) ** 1000
        expected = np.array([[float(truth[i, j]) for j in range(3)] for i in range(3)])
    assert power(CHAINS[name], 1000) == pytest.approx(expected, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("scale", [-1.0, -1e-9, -1e-18, 1e-9, 3.0])
@pytest.mark.parametrize("exponent", [1, 2, 13, 10**6])
def test_log_row_sums(scale: float, exponent: int) -> None:
    logs, rows = scale * np.array([1.0, 0.5, 2.0]), CHAINS["generic"]
    with mp.workdps(60):
        matrix = mp.diag([mp.exp(mp.mpf(float(v))) for v in logs]) * exact(rows)
        sums = (matrix**exponent) * mp.ones(3, 1)
        expected = [float(mp.log(sums[i])) for i in range(3)]
    assert log_row_sums(logs, rows, exponent)[0] == pytest.approx(expected, rel=1e-13)


def test_closed_classes_and_long_run_laws() -> None:
    assert [c.tolist() for c in closed_classes(CHAINS["two classes"])] == [[1], [2]]
    assert [c.tolist() for c in closed_classes(CHAINS["periodic"])] == [[0, 1, 2]]
    assert cesaro_law(INITIAL, CHAINS["two classes"]) == pytest.approx([0, 0.5, 0.5], rel=1e-15)
    assert cesaro_law(INITIAL, CHAINS["periodic"]) == pytest.approx([1 / 3] * 3, rel=1e-15)
    assert cesaro_law(INITIAL, CHAINS["slowly transient"]) == pytest.approx([0, 1 / 3, 2 / 3], rel=1e-15, abs=0)
    assert stationary(CHAINS["nearly decomposable"]) == pytest.approx([1 / 3] * 3, rel=1e-15)
    law = absorbed(INITIAL, CHAINS["two classes"], np.array([True, False, False]))
    assert law.tolist() == [0, 0.5, 0.5]


def test_stationary_with_rates_of_very_different_size() -> None:
    rare = np.array([[1 - 1e-15, 1e-15, 0], [1e-3, 1 - 2e-3, 1e-3], [0, 1e-9, 1 - 1e-9]])
    with mp.workdps(60):
        flow = [mp.mpf(1), mp.mpf(1e-15) / mp.mpf(1e-3), mp.mpf(1e-15) / mp.mpf(1e-9)]
        expected = [float(f / mp.fsum(flow)) for f in flow]
    assert stationary(rare) == pytest.approx(expected, rel=1e-14)


def test_visits_until_end() -> None:
    q, end = np.array([[0.5, 0.25], [0.125, 0.875 - 2.0**-30]]), np.array([0.25, 2.0**-30])
    with mp.workdps(60):
        truth = mp.matrix([[0.25, 0.75]]) * (mp.eye(2) - mp.matrix(q.tolist())) ** -1
        expected = [float(truth[0, j]) for j in range(2)]
    assert visits_until_end(np.array([0.25, 0.75]), q, end) == pytest.approx(expected, rel=1e-14)
