"""The section of a page about how many observations tell two models apart."""

from __future__ import annotations

from math import isfinite, isinf
from typing import Any

from hidiv.divergences.comparison import Comparison
from hidiv.divergences.telling_apart.tell_apart import Needed, SamplesNeeded, samples_to_tell_apart
from hidiv.models.model import Model
from hidiv.models.tree import Tree
from hidiv.progress import Progress
from hidiv.report.digits import shown, with_error

ERRORS = (0.05, 0.01, 0.001)
SECONDS = 4.0  # for the search for a rate, and for the simulated tests of one row


def samples_needed(p: Model, q: Model, comparison: Comparison, tree: Any, progress: Progress) -> dict[str, Any] | None:
    """Rows of error rate, observations if p is true and if q is true; whole trees are counted if there is no chain."""
    whole = comparison.rates.observed is None or (isinstance(tree, Tree) and not tree.is_chain)
    rate = comparison.observed if whole else comparison.rates.observed
    if rate is None:
        return None
    # Estimating a rate takes long: then only the strictest error rate is shown.
    errors = ERRORS[-1:] if rate.status == "estimate" else ERRORS
    needed = []
    for i, error in enumerate(errors):
        progress.show(i / len(errors), f"with error {error:g}")
        needed.append(samples_to_tell_apart(p, q, error, tree=tree if whole else None, max_seconds=SECONDS))
    return {
        "whole": whole,
        "words": _words(needed[-1], _counted(tree) if whole else "observations"),
        "rows": [{"error": f"{one.error:g}", "p": in_words(one.under_p), "q": in_words(one.under_q)} for one in needed],
        "data": [one.to_dict() for one in needed],
    }


ONE = {
    "observations": "observation",
    "independent draws of the whole tree": "independent draw of the whole tree",
    "independent sequences": "independent sequence",
}


def _counted(tree: Any) -> str:
    """What is counted where there is no chain."""
    return "independent draws of the whole tree" if isinstance(tree, Tree) else "independent sequences"


def _words(strict: SamplesNeeded, what: str) -> str:
    """The answer at the strictest error rate as a sentence."""
    sides = strict.under_p, strict.under_q
    if any(isinf(side.value) for side in sides):
        return f"No number of {what} tells them apart: nothing that is seen differs."
    along = "Along a chain, about" if strict.counted == "observations" else "About"
    known = [
        (rounded(side.value), name) for side, name in zip(sides, strict.names, strict=True) if isfinite(side.upper)
    ]
    if not known:
        sentence = f"How many {what} tell them apart could not be simulated in the time there was"
        guess = " and ".join(
            f"{rounded(side.wald)} if {name} is true" for side, name in zip(sides, strict.names, strict=True)
        )
        return (
            f"{sentence}; Wald's approximation is {guess}." if all(side.wald > 0 for side in sides) else f"{sentence}."
        )
    (first, name), *others = known
    rest = "".join(f", about {count} if {other} is" for count, other in others)
    tell = f"{ONE[what]} tells" if first == "1" else f"{what} tell"
    return f"{along} {first} {tell} them apart with one error in a thousand if {name} is true{rest}."


def rounded(count: float) -> str:
    """A number of observations, at least one, rounded to two digits."""
    whole = max(1.0, float(f"{count:.2g}"))
    return f"{whole:.0f}" if whole < 1e6 else shown(whole, 2)


def in_words(side: Needed) -> str:
    """The value with its interval and Wald's approximation, or the reason why there is none."""
    if isinf(side.value):
        return side.reason or "none"
    wald = "rate infinite" if side.wald == 0 else shown(side.wald, 3)
    if isinf(side.upper):
        return f"not simulated ({wald})"
    error = (side.upper - side.lower) / 2
    return f"{with_error(side.value, error) if error > 0 else shown(side.value, 3)} ({wald})"
