"""The product that looks at its entries, every way it can be run."""

from __future__ import annotations

import numpy as np
import pytest

from hidiv.recursions.kernels import instruction_set, twins
from hidiv.recursions.products import quickest_products, unset_table
from tests.recursions.conftest import compiled


@pytest.mark.parametrize(("m", "n", "width"), [(1, 1, 1), (7, 50, 3), (33, 24, 61), (70, 95, 300), (9, 1000, 61)])
@pytest.mark.parametrize("alike", [False, True])
def test_entries_and_small_rows(kernels, m, n, width, alike):
    rng = np.random.default_rng(1)
    left, right = rng.normal(size=(m, width)), rng.normal(size=(n, width))
    whole = np.full((m + 1, n + 2), 7.0)
    out = whole[:m, 1:-1]
    expected = left @ right.T
    if alike:
        np.fill_diagonal(expected, np.inf)
    bound = np.full(m, -1.5 * np.sqrt(width))
    small = kernels.products(left, right, bound, alike, out)
    if alike:
        np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12)
    off = ~np.eye(m, n, dtype=bool) if alike else np.ones((m, n), dtype=bool)
    assert (small == ((out <= bound[:, None]) & off).any(axis=1)).all()
    assert (whole[m] == 7).all()
    assert (whole[:, [0, -1]] == 7).all()


def test_the_way_it_is_cut_does_not_show(kernels):
    rng = np.random.default_rng(2)
    left, right, bound = rng.normal(size=(60, 270)), rng.normal(size=(90, 270)), np.zeros(60)
    whole, parts = np.empty((60, 90)), np.empty((60, 90))
    kernels.products(left, right, bound, False, whole)
    for i in range(0, 60, 13):
        for j in range(0, 90, 31):
            kernels.products(
                left[i : i + 13], right[j : j + 31], bound[i : i + 13], False, parts[i : i + 13, j : j + 31]
            )
    if kernels.is_compiled:  # BLAS makes no such promise
        assert (whole == parts).all()
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("columns", [400, 403, 416])
def test_a_table_written_past_the_cache_is_the_same(kernels, columns):
    rng = np.random.default_rng(3)
    left, right, bound = rng.normal(size=(401, 9)), rng.normal(size=(columns, 9)), np.full(401, -1.0)
    table, shifted = unset_table((401, columns)), np.empty(401 * columns + 2)
    assert table.ctypes.data % 64 == 0
    table[:] = np.nan
    beside = shifted[1 : 1 + table.size].reshape(table.shape)  # at no multiple of a vector
    small = kernels.products(left, right, bound, True, table)
    assert (kernels.products(left, right, bound, True, beside) == small).all()
    assert (table == beside).all()
    np.testing.assert_allclose(table, left @ right.T * ~np.eye(401, columns, dtype=bool), rtol=0, atol=1e-12)


@pytest.mark.parametrize("alike", [False, True])
def test_threads_do_not_show(kernels, alike):
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(700, 5)), rng.normal(size=(690, 5))
    one, many = np.empty((700, 690)), np.empty((700, 690))
    bound = rng.uniform(-15, -5, 700)
    small = kernels.products(left, right, bound, alike, one)
    assert 0 < small.sum() < 700
    assert (kernels.products(left, right, bound, alike, many, threads=3) == small).all()
    assert (many == one).all()
    assert (np.diagonal(many) == 0).all() == alike


A, BOUND, OUT = np.ones((3, 2)), np.ones(3), np.ones((3, 3))
BAD = {
    "other features": (A, np.ones((3, 1)), BOUND, False, OUT),
    "a bound too short": (A, A, np.ones(2), False, OUT),
    "another shape": (A, A, BOUND, False, np.ones((3, 4))),
    "rows in pieces": (A, A, BOUND, False, np.ones((3, 6))[:, ::2]),
    "no feature": (np.ones((3, 0)), np.ones((3, 0)), BOUND, False, OUT),
}


@pytest.mark.parametrize("what", BAD if compiled else [])
def test_arrays_that_do_not_fit_are_refused(what):
    with pytest.raises(ValueError, match="must"):
        compiled.products(*BAD[what])


def test_blas_multiplies_where_the_kernel_would_be_slower(kernels, monkeypatch):
    rng = np.random.default_rng(3)
    left, right, bound = rng.normal(size=(20, 30)), rng.normal(size=(25, 30)), np.zeros(20)
    ways, twin, way = [], twins["products"], kernels.products
    monkeypatch.setitem(twins, "products", lambda *given: ways.append("blas") or twin(*given))
    out, same = np.empty((20, 25)), np.empty((20, 25))
    small = quickest_products(left, right, bound, False, out)
    assert (small == way(left, right, bound, False, same)).all()
    np.testing.assert_allclose(out, same, rtol=0, atol=1e-13)
    if kernels.is_compiled and instruction_set() is not None:
        assert ways == (["blas"] if kernels.way == "baseline" else [])
