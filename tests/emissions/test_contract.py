"""The contract of the emission families over the whole registry: a new one is tested the day it is registered."""

from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.registry import FAMILIES, family_class
from tests.emissions.contract import CHECKS, ORDERS, assert_close, registered
from tests.emissions.entries import CROSSED, ENTRIES, law_of
from tests.emissions.plain_points import carried, plain_divergences


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_family(check, entry):
    check(entry)


def test_every_family_has_an_entry():
    assert {entry.family for entry in ENTRIES.values()} == set(FAMILIES)


def test_every_pair_is_tested():
    pairs = {(p.name, q.name) for p, q in registered()}
    assert {(name, name) for name in FAMILIES} <= pairs
    assert {pair for pair in pairs if pair[0] != pair[1]} == {*CROSSED, *((b, a) for a, b in CROSSED)}


def test_names_are_those_of_the_classes():
    for name, home in FAMILIES.items():
        module, class_name = home.split(":")
        family = family_class(name)
        assert (family.name, family.__name__, module.split(".")[-1]) == (name, class_name, name)
        assert "".join(word.capitalize() for word in name.split("_")) == class_name


@pytest.mark.parametrize("names", CROSSED, ids="-".join)
def test_pair_of_two_families(names):
    draw_first, draw_second, points = CROSSED[names]
    rng = np.random.default_rng(7)
    first, second = draw_first(rng), draw_second(rng)
    assert (first.name, second.name) == names
    for p, q in ((first, second), (second, first)):
        a, b = p.take([0]), q.take([0])
        kl, *orders = plain_divergences(carried(law_of(a), points(a, b)), law_of(b), ORDERS)
        assert_close(p.kl(q)[0], kl, 1e-13)
        for alpha, expected in zip(ORDERS, orders, strict=True):
            assert_close(p.renyi(q, alpha)[0], expected, 1e-12)
        assert [gap is not None for gap in p.gaps(q)] == np.isinf(p.kl(q)).tolist()
        x = p.sample(np.arange(12) % 3, rng)
        with np.errstate(invalid="ignore"):
            expected = q.log_prob(np.minimum(x, 1.0) if q.name == "bernoulli" else x) - p.log_prob(x)
        seen = x <= 1 if q.name == "bernoulli" else np.full(12, True)
        np.testing.assert_allclose(p.log_ratio(q, x[seen]), expected[seen], rtol=1e-11, atol=1e-12)
