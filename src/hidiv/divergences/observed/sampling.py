"""Plain Monte Carlo of the observed divergence, drawn until it is good enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from hidiv.divergences.montecarlo import estimate, log_likelihood_or_zero
from hidiv.divergences.result import Divergence
from hidiv.divergences.subject import subject
from hidiv.errors import HidivError, refuse
from hidiv.inference.likelihood import log_likelihood
from hidiv.inference.sampling import Seed, draw_observations, draw_states
from hidiv.models.model import Model
from hidiv.models.tree import Tree

Array = NDArray[np.float64]

FEWEST, MOST = 200, 100_000  # draws before a standard error is trusted; draws when nothing else is said


@dataclass(frozen=True, eq=False)
class Draws:
    """Independent draws whose mean is the divergence: `draw(size, rng)` gives (size,)."""

    draw: Callable[[int, np.random.Generator], Array]
    subject: str
    per: str | None = None

    @classmethod
    def on_tree(cls, p: Model, q: Model, tree: Tree) -> Draws:
        """log p(X)/q(X), X drawn from p."""

        def draw(size: int, rng: np.random.Generator) -> Array:
            x = draw_observations(p, tree, draw_states(p, tree, size, rng), rng)
            return np.array([log_likelihood(p, one, tree) - log_likelihood_or_zero(q, one, tree) for one in x])

        return cls(draw, subject(p, q, tree))

    @classmethod
    def rate(cls, p: Model, q: Model, length: int) -> Draws:
        """The log-ratio that the second half of a long path adds, a step: what came before is forgotten by then."""
        whole, half = Tree.chain(2 * length), Tree.chain(length)

        def draw(size: int, rng: np.random.Generator) -> Array:
            x = draw_observations(p, whole, draw_states(p, whole, size, rng), rng)
            gains = []
            for one in x:
                gain_p, gain_q = (
                    log_likelihood_or_zero(model, one, whole) - log_likelihood_or_zero(model, one[:length], half)
                    for model in (p, q)
                )
                gains.append(inf if np.isnan(gain_q) else (gain_p - gain_q) / length)
            return np.array(gains)

        return cls(draw, f"{subject(p, q)} rate", "step")


def stopped_estimate(
    draws: Draws, rtol: float, atol: float, seed: Seed, max_samples: int | None, max_seconds: float | None
) -> Divergence:
    """Draw until the standard error is below atol or rtol times the mean, draws or time are used up, or Ctrl-C."""
    if max_samples is not None and max_samples < 2:
        refuse(HidivError, "max_samples", "must be at least 2", max_samples)
    most = MOST if max_samples is None else max_samples
    rng = np.random.default_rng(seed)
    end = monotonic() + (inf if max_seconds is None else max_seconds)
    values = np.zeros(0)
    stopped = "the number of draws"
    try:
        while len(values) < most:
            values = np.concatenate([values, draws.draw(min(max(FEWEST, len(values) // 2), most - len(values)), rng)])
            if not np.isfinite(values).all():
                stopped = "a draw that q cannot produce"
                break
            error = float(values.std(ddof=1)) / np.sqrt(len(values))
            if len(values) >= FEWEST and error <= max(atol, rtol * abs(float(values.mean()))):
                stopped = "the wanted standard error"
                break
            if monotonic() > end:
                stopped = "the time"
                break
    except KeyboardInterrupt:
        if not len(values):
            raise
        stopped = "an interrupt"
    found = estimate("observed", values, draws.subject)
    return replace(found, per=draws.per, notes=[f"plain Monte Carlo of the log-ratio, ended by {stopped}"])
