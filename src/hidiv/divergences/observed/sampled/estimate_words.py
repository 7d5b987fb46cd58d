"""How an estimate was drawn, in clauses for its notes: what was averaged, what controls gained, what ended it."""

from __future__ import annotations

from math import floor, log10

from hidiv.errors import counted

PREDICTIONS = "how far both models' predictions of the next observation are apart, KL(p(x_t | past) || q(x_t | past))"


def averaged(what: str, over: str, controls: int, stopped: str) -> str:
    """What the estimate is the mean of, and why no more was drawn.

    >>> averaged("log p(x)/q(x)", "draws from p", 0, "the time")
    'the mean over draws from p of log p(x)/q(x); drawing was ended by the time'
    """
    if controls:
        what += f", corrected by {counted(controls, 'control variate')} of known mean, which take out chance"
    return f"the mean over {over} of {what}; drawing was ended by {stopped}"


def uncontrolled(value: float, std_error: float, others: bool = False) -> str:
    """What the same draws say without controls, or without others than the fitted one."""
    return f"without {'other ' if others else ''}control variates it is {with_error(value, std_error)}"


def gained(value: float, std_error: float, gain: float, draws: str = "draws") -> str:
    """What the log-likelihood ratio alone says; `gain`: its variance over that of the estimate."""
    times = f"{gain:,.0f}" if gain >= 100.0 else f"{gain:.2g}"
    return (
        f"the log-likelihood ratio alone is {with_error(value, std_error)} on average, and would take {times} "
        f"times as many {draws} for the same error"
    )


def with_error(value: float, std_error: float) -> str:
    """A mean with the digits that its standard error leaves.

    >>> with_error(13.47391786, 0.113)
    '13.47 (standard error 0.11)'
    """
    if not 0.0 < std_error < 1e300 or abs(value) > 1e12 * std_error:
        return f"{value:.10g} (standard error {std_error:.2g})"
    places = 1 - floor(log10(std_error))
    return f"{value:.{min(max(places, 0), 300)}f} (standard error {std_error:.2g})"
