"""How long the laws run: a few cases, always the same, with every commit; HIDIV_FUZZ=N new ones (make fuzz)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import hidiv as hd
from tests.laws.drawn import KINDS, Parameters, emission, model
from tests.refusals import found_or_refused

EXAMPLES = int(os.environ.get("HIDIV_FUZZ", "0"))


def law(short: int, share: float = 1.0) -> settings:
    """`short` cases in the tests; in a long run `share` of HIDIV_FUZZ."""
    return settings(
        max_examples=max(1, int(share * EXAMPLES)) if EXAMPLES else short,
        derandomize=not EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


@st.composite
def pairs(draw: Any, make: Callable[..., Any], kinds: tuple[str, ...] = KINDS) -> tuple[Any, Any]:
    """(p, q) of one kind, ordinary or extreme, made by `model` or `emission`; None for one that is refused."""
    numbers = Parameters(lambda items: draw(st.sampled_from(items)), draw(st.booleans()))
    kind, n_states = draw(st.sampled_from(kinds)), draw(st.integers(1, 3))
    p, q = (found_or_refused(lambda: make(numbers, kind, n_states)) for _ in range(2))
    return p, q


def model_pairs(kinds: tuple[str, ...] = KINDS) -> Any:
    """Pairs of models that both exist."""
    return pairs(model, kinds).filter(lambda both: both[0] is not None and both[1] is not None)


def family_pairs(kinds: tuple[str, ...] = KINDS) -> Any:
    """The same of families."""
    return pairs(emission, kinds).filter(lambda both: both[0] is not None and both[1] is not None)


def value_of(compute: Callable[[], Any]) -> Any:
    """What is computed, without a NaN; None after one sentence."""
    found = found_or_refused(compute)
    if found is not None and not isinstance(found, hd.Divergence):
        assert not np.isnan(np.asarray(found, dtype=np.float64)).any(), found
    return found


def divergence_of(compute: Callable[[], hd.Divergence]) -> hd.Divergence | None:
    """A divergence that keeps the laws of every divergence, or None after one sentence."""
    found = value_of(compute)
    if found is None:
        return None
    numbers = [found.value, found.lower, found.upper, found.std_error]
    assert not any(number is not None and np.isnan(number) for number in numbers), found
    assert found.lower is None or found.lower <= found.value
    assert found.upper is None or found.value <= found.upper
    if found.status in ("exact", "certified"):
        assert found.value >= 0
    if found.value == np.inf:
        assert found.infinite, "infinity has a reason"
    if found.by_node is not None and np.isfinite(found.value):
        np.testing.assert_allclose(np.sum(found.by_node), found.value, rtol=1e-11, atol=0)
    assert repr(found)
    return found
