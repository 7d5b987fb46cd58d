"""When a search for the observed divergence may stop."""

from __future__ import annotations

from hidiv.arguments import number, whole


def check_limits(rtol: float, atol: float, max_samples: int | None, max_seconds: float | None) -> None:
    """Tolerances and budgets as asked for; a budget of None is none."""
    number("rtol", rtol)
    number("atol", atol)
    if max_samples is not None:
        whole("max_samples", max_samples, 2)
    if max_seconds is not None:
        number("max_seconds", max_seconds, endless=True)
