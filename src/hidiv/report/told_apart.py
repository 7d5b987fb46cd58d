"""How many observations would tell the two models apart, as the page says it."""

from __future__ import annotations

from math import isinf, log
from typing import Any

from hidiv.divergences.compared import Comparison
from hidiv.divergences.tell_apart import Needed, samples_to_tell_apart
from hidiv.models.model import Model
from hidiv.progress import Progress
from hidiv.report.page import shown

ERRORS = (0.05, 0.01, 0.001)
SECONDS = 2.0  # for a rate that is searched for, and for the tests of one row


def told_apart(p: Model, q: Model, found: Comparison, progress: Progress) -> dict[str, Any] | None:
    """Rows of (error rate, observations when p is true, when q is true); of whole trees where there is no rate."""
    if found.rates.observed is None:
        return _whole(found)
    # A rate that has to be estimated takes its time: then the strictest error rate has to do.
    errors = ERRORS[-1:] if found.rates.observed.status == "estimate" else ERRORS
    needed = []
    for i, error in enumerate(errors):
        progress.show(i / len(errors), f"with error {error:g}")
        needed.append(samples_to_tell_apart(p, q, error, max_seconds=SECONDS))
    strict = needed[-1]
    if any(isinf(side.value) for side in (strict.under_p, strict.under_q)):
        words = "No number of observations of a chain tells them apart: nothing that is seen differs."
    else:
        words = (
            f"Along a chain about {best(strict.under_p)} observations tell them apart with one error in a thousand if "
            f"{strict.names[0]} is true, about {best(strict.under_q)} if {strict.names[1]} is."
        )
    return {
        "whole": False,
        "words": words,
        "rows": [{"error": f"{one.error:g}", "p": in_words(one.under_p), "q": in_words(one.under_q)} for one in needed],
        "data": [one.to_dict() for one in needed],
    }


def _whole(found: Comparison) -> dict[str, Any] | None:
    """Independent observations of the whole tree when p is true, by Wald's approximation (definitions (7.1))."""
    observed = found.observed
    if observed is None or isinf(observed.value) or observed.value <= 0:
        return None
    trees = {error: (1 - 2 * error) * log((1 - error) / error) / observed.value for error in ERRORS}
    name, last = found.p or "p", rounded(trees[ERRORS[-1]])
    return {
        "whole": True,
        "words": f"About {last} independent observations of the whole tree tell them apart with one error in a "
        f"thousand if {name} is true.",
        "rows": [{"error": f"{error:g}", "p": shown(value, 3)} for error, value in trees.items()],
        "data": [{"error": error, "whole_trees_under_p": value} for error, value in trees.items()],
    }


def best(side: Needed) -> str:
    """The mean of simulated tests where there is one, Wald's number else."""
    return rounded(side.value if side.simulated is None else side.simulated.mean)


def rounded(count: float) -> str:
    """A number of observations in two digits, at least one."""
    whole = max(1.0, float(f"{count:.2g}"))
    return f"{whole:.0f}" if whole < 1e6 else shown(whole, 2)


def in_words(side: Needed) -> str:
    """Both numbers, or why there is none."""
    if isinf(side.value):
        return side.reason or "none"
    wald = "rate infinite" if side.value == 0 else shown(side.wald, 3)
    simulated = "too long to simulate" if side.simulated is None else shown(side.simulated.mean, 3)
    return f"{simulated} ({wald})"
