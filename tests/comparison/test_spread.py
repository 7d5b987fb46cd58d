"""Some models of many: which are looked at."""

import numpy as np
import pytest

from hidiv.comparison.collection.collection import evenly_spread


@pytest.mark.parametrize("most", [2, 6, 48])
@pytest.mark.parametrize("size", [1, 2, 5, 6, 7, 48, 49, 1000, 10**6 + 3])
def test_indices_go_from_the_first_to_the_last_in_steps_that_differ_by_one_at_most(size, most):
    some = evenly_spread(size, most)
    assert len(some) == min(size, most)
    assert some[0] == 0
    assert some[-1] == (size - 1 if len(some) > 1 else 0)
    steps = np.diff(some)
    assert (steps > 0).all()
    assert np.ptp(steps) <= 1 if len(steps) else size == 1
