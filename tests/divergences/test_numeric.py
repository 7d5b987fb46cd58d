"""A divergence is used as the number it is: formats, rounding, order, arithmetic, numpy; infinities give reasons."""

from __future__ import annotations

from contextlib import suppress
from math import inf, isinf, sqrt

import numpy as np
import pytest

import hidiv as hd
from hidiv.errors import HidivError, ImpossibleEvidence

D = hd.Divergence(0.5, "joint")
E = hd.Divergence(2.0, "observed", "estimate", 1.5, 2.5, 0.25, 100)


def test_formats():
    assert f"{D:.3f}" == "0.500"
    assert f"{E:8.2e}" == "2.00e+00"
    assert f"{D}" == str(D) == repr(D)
    assert f"{D:.3f}".strip() == format(0.5, ".3f")


def test_rounding_and_conversion():
    assert round(E) == 2
    assert isinstance(round(E), int)
    assert round(hd.Divergence(0.123456, "joint"), 3) == 0.123
    assert (float(D), int(E), abs(D), -D, +D) == (0.5, 2, 0.5, -0.5, 0.5)
    assert sqrt(hd.Divergence(4.0, "joint")) == 2.0


def test_order():
    assert D < E
    assert D <= 0.5 <= D
    assert E > 1
    assert E <= 3
    assert sorted([E, 1.0, D]) == [D, 1.0, E]
    assert max(D, E) is E
    with pytest.raises(TypeError):
        _ = D < "a"


def test_equality():
    assert D == 0.5
    assert D == 0.5
    assert D != E
    assert hd.Divergence(0.5, "posterior") == D
    assert pytest.approx(0.5 + 1e-12) == D
    assert D != "joint"
    assert D is not None
    assert D != None  # noqa: E711
    assert {D: "a"}[0.5] == "a"


def test_arithmetic_gives_plain_floats():
    assert (divmod(E, 1.5), divmod(3, E)) == ((1.0, 0.5), (1.0, 1.0))
    for found, wanted in (
        (D + E, 2.5), (D + 1, 1.5), (1 + D, 1.5), (E - D, 1.5), (3 - E, 1.0), (2 * D, 1.0), (D * E, 1.0),
        (E / 4, 0.5), (1 / D, 2.0), (E**2, 4.0), (2**E, 4.0),
        (E // D, 4.0), (3 // E, 1.0), (3 % E, 1.0), (E % 1.5, 0.5), (sum([D, E]), 2.5), (D + np.float64(1), 1.5),
    ):  # fmt: skip
        assert type(found) is float
        assert found == wanted
    with pytest.raises(TypeError):
        _ = D + "a"


def test_numpy_takes_it_as_a_number():
    assert np.array([D, E]).tolist() == [0.5, 2.0]
    assert np.mean([D, E]) == 1.25
    np.testing.assert_array_equal(np.ones(2) * D, [0.5, 0.5])
    np.testing.assert_array_equal(D * np.ones(2), [0.5, 0.5])
    np.testing.assert_array_equal(np.array([0.1, 1.0]) > D, [False, True])
    assert np.log(E) == np.log(2.0)
    assert np.float64(2) * D == 1.0
    np.testing.assert_allclose(D, 0.5)


def test_units_are_not_mixed():
    bits = D.to("bits")
    assert bits != D
    for mix in (lambda: D + bits, lambda: bits > D, lambda: bits / D):
        with pytest.raises(HidivError, match=r"unit: (nats and bits|bits and nats) are not comparable; bring both"):
            mix()
    assert bits + bits == 2 * float(bits)


def test_notes_are_added_to_a_new_result():
    more = D.noted("a", "b")
    assert more.notes == ["a", "b"]
    assert D.notes == ()
    assert D.noted() is D


def rows(rng, *shape):
    """Laws with zeros in them."""
    table = rng.random(shape) * (rng.random(shape) < 0.6)
    table[..., 0] += 0.1
    return table / table.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("seed", range(12))
def test_every_infinite_result_names_its_reason(seed):
    rng = np.random.default_rng(seed)
    p, q = (hd.Model(rows(rng, 2), rows(rng, 2, 2), hd.Categorical(rows(rng, 2, 3))) for _ in range(2))
    _, x = hd.sample(p, 4, seed=seed)
    found = [
        hd.joint_kl(p, q, 4), hd.joint_kl(p, q, 4, per_node=True), hd.joint_kl(p, q, hd.Tree.regular(2, 3)),
        hd.joint_kl_rate(p, q), hd.do_bound(p, q, 4), hd.joint_renyi(p, q, 4, 0.5), hd.joint_renyi(p, q, 4, 2.0),
        hd.observed_kl(p, q, 4), hd.observed_kl(p, q, 4, method="certified"),
        hd.observed_kl(p, q, 4, method="montecarlo", max_samples=64, seed=1),
        hd.observed_kl(p, q, 4, method="variational"), hd.observed_kl_rate(p, q, width=1e-2),
        hd.observed_kl_rate(p, q, method="montecarlo", max_samples=8, seed=1),
        *(hd.montecarlo(p, q, 4, quantity=kind, samples=20, seed=1) for kind in ("joint", "observed")),
    ]  # fmt: skip
    with suppress(ImpossibleEvidence):
        found.append(hd.posterior_kl(p, q, x))
    together = hd.compare(p, q, 4, max_seconds=0.5)
    found += [each for each in (together.joint, together.observed, together.expected_posterior) if each is not None]
    for each in found:
        assert isinf(each.value) == bool(each.infinite), each
        assert not isinf(each.value) or each.value == inf


def test_the_remedy_is_named_where_it_helps():
    p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.5, 0.5]], hd.Categorical([[0.3, 0.7], [0.5, 0.5]]))
    q = hd.Model([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], hd.Categorical([[1.0, 0.0], [1.0, 0.0]]))
    calls = (
        lambda q: hd.joint_kl(p, q, 4), lambda q: hd.joint_kl_rate(p, q), lambda q: hd.do_bound(p, q, 4),
        lambda q: hd.joint_renyi(p, q, 4, 2.0), lambda q: hd.posterior_kl(p, q, [0, 0]),
        lambda q: hd.observed_kl(p, q, 4), lambda q: hd.observed_kl_rate(p, q, width=1e-3),
        lambda q: hd.montecarlo(p, q, 4, samples=50, seed=1), lambda q: hd.joint_kl(p=p, q=q, tree=4),
    )  # fmt: skip
    for call in calls:
        assert "hd.smoothed(q, weight)" in repr(call(q))
        assert not call(hd.smoothed(q, 1e-6)).infinite
    more = hd.Model([1.0], [[1.0]], hd.Categorical([[1.0, 0.0]]))  # another number of states
    assert "hd.smoothed(q, weight)" in repr(hd.observed_kl(p, more, 3))


def test_the_remedy_is_not_named_where_it_does_not_help():
    few, many = (hd.Model([1.0], [[1.0]], hd.Binomial([n], [0.5])) for n in (2, 3))
    assert hd.joint_kl(many, few, 4).infinite
    assert "smoothed" not in repr(hd.joint_kl(many, few, 4))
    narrow, wide = (hd.Model([1.0], [[1.0]], hd.Gaussian([0.0], std=[s])) for s in (1.0, 3.0))
    assert hd.joint_renyi(wide, narrow, 4, 2.0).infinite
    assert "smoothed" not in repr(hd.joint_renyi(wide, narrow, 4, 2.0))
