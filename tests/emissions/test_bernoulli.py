from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hidiv.emissions.families.bernoulli import Bernoulli
from hidiv.emissions.families.categorical import Categorical
from hidiv.errors import IncompatibleModels
from tests.emissions.plain_laws import divergences, error

inf = np.inf


def test_sure_outcomes():
    p, q = Bernoulli([0.0, 1.0, 0.0, 0.5]), Bernoulli([0.0, 0.25, 0.5, 0.5])
    np.testing.assert_allclose(p.kl(q), [0.0, np.log(4), np.log(2), 0.0], rtol=1e-15)
    assert q.kl(p).tolist() == [0.0, inf, inf, 0.0]
    assert q.gaps(p) == [None, "the value 0", "the value 1", None]
    assert p.gaps(q) == [None] * 4
    for alpha in (0.3, 2.0):
        np.testing.assert_allclose(p.renyi(q, alpha), [0.0, np.log(4), np.log(2), 0.0], rtol=1e-14)
    assert q.renyi(p, 2.0).tolist() == [0.0, inf, inf, 0.0]
    assert Bernoulli([0.0]).renyi(Bernoulli([1.0]), 0.5).tolist() == [inf]  # disjoint
    assert q.log_ratio(p, [0, 1]).tolist() == [[0.0, -inf, np.log(2), 0.0], [0.0, np.log(4), -inf, 0.0]]


def test_gaps_name_the_column():
    p, q = Bernoulli([[0.5, 0.5], [0.5, 1.0]]), Bernoulli([[0.5, 1.0], [0.0, 1.0]])
    assert p.gaps(q) == ["the value 0 in column 1", "the value 1 in column 0"]
    # Ruled out by p in one column and by q in the other: ruled out by both.
    assert Bernoulli([[0.0, 0.5]]).log_ratio(Bernoulli([[0.5, 0.0]]), [[1, 1]]).tolist() == [[0.0]]


@pytest.mark.parametrize(("p", "q"), [(0.5, 1e-20), (1e-20, 0.5), (1e-30, 2e-30), (1e-12, 3e-12), (1 - 1e-16, 0.5)])
def test_tiny_probabilities(p, q):
    first, second = Bernoulli([p]), Bernoulli([q])
    kl, half, double = divergences(("bernoulli", [p]), ("bernoulli", [q]), 1, (0.5, 2.0))
    assert error(first.kl(second)[0], kl) < 1e-14
    assert error(first.renyi(second, 0.5)[0], half) < 1e-14
    assert error(first.renyi(second, 2.0)[0], double) < 1e-14


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.6), (0.3, 0.3 + 1e-9), (0.7, 0.7 + 1e-9), (0.5, 1e-18)])
def test_two_symbols_are_a_bit(p, q):
    bits, symbols = (Bernoulli([p]), Bernoulli([q])), (Categorical([[1 - p, p]]), Categorical([[1 - q, q]]))
    expected = divergences(("bernoulli", [p]), ("bernoulli", [q]), 1, (0.5,))
    for first, second in ((bits[0], symbols[1]), (symbols[0], bits[1])):
        assert error(first.kl(second)[0], expected[0]) < 1e-13
        assert error(first.renyi(second, 0.5)[0], expected[1]) < 1e-13
        np.testing.assert_allclose(first.log_ratio(second, [0, 1]), bits[0].log_ratio(bits[1], [0, 1]), rtol=1e-13)
    assert Categorical([[1.0, 0.0]]).gaps(bits[0]) == [None]
    assert bits[0].gaps(Categorical([[1.0, 0.0]])) == ["the value 1"]


def test_more_symbols_are_refused():
    with pytest.raises(IncompatibleModels, match="Categorical of 2 symbols only, got 3; use Categorical for both"):
        Bernoulli([0.5]).kl(Categorical([[0.2, 0.3, 0.5]]))


def test_light_families_do_not_import_scipy():
    code = """
import sys
import numpy as np
from hidiv.emissions.registry import family_class
rng = np.random.default_rng(0)
laws = [family_class(name)([0.25, 0.5]) for name in ("bernoulli", "poisson", "exponential", "geometric")]
for law in [*laws, family_class("silent")(2)]:
    law.kl(law), law.renyi(law, 0.5), law.log_prob(law.sample([0, 1], rng))
sys.exit("scipy" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
