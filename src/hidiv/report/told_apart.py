"""How many observations would tell the two models apart."""

from __future__ import annotations

from typing import Any

from hidiv.divergences.compared import Comparison
from hidiv.models.model import Model

ERRORS = (0.05, 0.01, 0.001)


def told_apart(p: Model, q: Model, found: Comparison) -> dict[str, Any] | None:
    """Rows of (error rate, observations when p is true, when q is true), None where there is no observed rate."""
    return None
