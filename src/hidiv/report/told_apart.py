"""How many observations would tell the two models apart, as the page says it."""

from __future__ import annotations

from math import isinf
from typing import Any

from hidiv.divergences.compared import Comparison
from hidiv.divergences.tell_apart import Needed, samples_to_tell_apart
from hidiv.models.model import Model
from hidiv.report.page import shown

ERRORS = (0.05, 0.01, 0.001)
SECONDS = 2.0  # for a rate that is searched for, and for the tests of one row


def told_apart(p: Model, q: Model, found: Comparison) -> dict[str, Any] | None:
    """Rows of (error rate, observations when p is true, when q is true), None where there is no observed rate."""
    if found.rates.observed is None:
        return None
    needed = [samples_to_tell_apart(p, q, error, max_seconds=SECONDS) for error in ERRORS]
    strict = needed[-1]
    sides = {"p": strict.under_p, "q": strict.under_q}
    if any(isinf(side.value) for side in sides.values()):
        words = "No number of observations of a chain tells them apart: nothing that is seen differs."
    else:
        a, b = (best(side) for side in sides.values())
        words = (
            f"Along a chain about {a} observations tell them apart with one error in a thousand if {strict.names[0]} is "
            f"true, about {b} if {strict.names[1]} is."
        )
    return {
        "words": words,
        "rows": [{"error": f"{one.error:g}", "p": in_words(one.under_p), "q": in_words(one.under_q)} for one in needed],
        "data": [one.to_dict() for one in needed],
    }


def best(side: Needed) -> str:
    """The mean of simulated tests where there is one, Wald's number else."""
    return shown(side.value if side.simulated is None else side.simulated.mean, 3)


def in_words(side: Needed) -> str:
    """Both numbers, or why there is none."""
    if isinf(side.value):
        return side.reason or "none"
    wald = "1 or a few" if side.value == 0 else shown(side.value, 3)
    if side.simulated is None:
        return f"{wald} (Wald's approximation; too long to simulate)"
    return f"{shown(side.simulated.mean, 3)} on average in simulated tests, {wald} by Wald's approximation"
