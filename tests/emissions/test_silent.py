from __future__ import annotations

import numpy as np
import pytest

from hidiv.emissions.families.silent import Silent
from hidiv.errors import IncompatibleModels


def test_nothing_is_seen():
    law = Silent(3)
    assert (law.n_states, law.n_features, law.is_scalar, law.parameters()) == (3, 0, False, {"n_states": 3})
    x = law.sample([0, 2, 1, 1], np.random.default_rng(0))
    assert x.shape == (4, 0)
    np.testing.assert_array_equal(law.log_prob(x), np.zeros((4, 3)))
    np.testing.assert_array_equal(law.log_ratio(law, x), np.zeros((4, 3)))


def test_nothing_differs():
    law = Silent(2)
    assert law.kl(Silent(2)).tolist() == [0.0, 0.0]
    assert law.renyi(Silent(2), 0.5).tolist() == [0.0, 0.0]
    assert law.gaps(law) == [None, None]
    found = law.statistics()
    assert (found.expected * found.natural).sum(axis=1).tolist() == [0.0, 0.0]
    with pytest.raises(IncompatibleModels, match="p has 2 states and q has 3"):
        law.kl(Silent(3))


def test_states_can_be_taken():
    assert Silent(3).take([2, 0]).n_states == 2
    assert Silent(3).take([0, 0, 1, 2]).n_states == 4
    assert Silent(np.int64(2)).n_states == 2
