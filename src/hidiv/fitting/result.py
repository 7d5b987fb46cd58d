"""What fitting gives back."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

from hidiv.errors import counted
from hidiv.models.model import Model


@dataclass(frozen=True, repr=False)
class FitResult:
    """The fitted model; history[i] is the log-likelihood after i iterations, never below the one before.

    `notes` say what a user should know: states without evidence, spreads that shrank to their least value, an
    iteration limit that was reached. `bic` = -2 log-likelihood + n_parameters log(n_observations), smaller is better.
    """

    model: Model
    log_likelihood: float
    history: tuple[float, ...]
    converged: bool
    n_parameters: int
    n_observations: int  # nodes of which anything is known
    notes: tuple[str, ...] = ()
    starts: tuple[float, ...] = ()  # log-likelihood each climb came to, the last of the best one not included

    @property
    def n_iter(self) -> int:
        """Iterations made."""
        return len(self.history) - 1

    @property
    def bic(self) -> float:
        """Bayesian information criterion; smaller is better."""
        return -2.0 * self.log_likelihood + self.n_parameters * log(max(self.n_observations, 1))

    @property
    def aic(self) -> float:
        """Akaike information criterion; smaller is better."""
        return -2.0 * self.log_likelihood + 2.0 * self.n_parameters

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers, the model as its file holds it."""
        return {
            "format": "hidiv.fit", "version": 1,
            "model": self.model.to_dict(), "log_likelihood": self.log_likelihood, "history": list(self.history),
            "converged": self.converged, "n_iter": self.n_iter, "n_parameters": self.n_parameters,
            "n_observations": self.n_observations, "bic": self.bic, "aic": self.aic, "notes": list(self.notes),
            "starts": list(self.starts),
        }  # fmt: skip

    def __repr__(self) -> str:
        how = "converged" if self.converged else "not converged"
        said = "".join(f"\n  {note}" for note in self.notes)
        return (
            f"{self.model!r}; log-likelihood {self.log_likelihood:.6g} after {counted(self.n_iter, 'iteration')}, "
            f"{how}, BIC {self.bic:.6g}{said}"
        )
