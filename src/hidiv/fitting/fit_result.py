"""The result of a fit, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from hidiv.arguments import whole
from hidiv.divergences.result import number, plain
from hidiv.emissions.family import free_entries
from hidiv.errors import InvalidFile, InvalidModel, counted, refuse
from hidiv.markup import card, line, table
from hidiv.models.checks import check_format, check_keys
from hidiv.models.model import Model


@dataclass(frozen=True, repr=False)
class FitResult:
    """A fitted model and how it was reached; returned by `hd.fit`.

    Attributes
    ----------
    model : Model
        The fitted model.
    log_likelihood : float
        Its log-likelihood.
    history : tuple of float
        The log-likelihood of the start and after every iteration; it never falls (with pseudo-counts, the sum with
        their log-probability does not).
    converged : bool
        Whether the climb ended before `max_iter` iterations.
    n_parameters : int
        The number of free parameters.
    n_observations : int
        The number of nodes of which anything is known.
    notes : tuple of str
        What to know about the fit: states without evidence, spreads held at their least value, an iteration limit that
        was reached.
    starts : tuple of float
        The log-likelihood each climb came to, before the best one was finished.
    restarts : tuple of Model
        The models that the starts came to, for `hd.agreement`; not kept in files, and not compared.
    n_iter : int
        The number of iterations made.
    bic : float
        Bayesian information criterion, -2 log_likelihood + n_parameters log(n_observations); smaller is better.
    aic : float
        Akaike information criterion, -2 log_likelihood + 2 n_parameters; smaller is better.
    data : object or None
        What the model was fitted to, for its standard errors; not compared, and not written to files.
    fixed : frozenset of str
        Parts and parameters that were not fitted; not compared, and not written to files.
    errors : StandardErrors
        The standard errors of the parameters; not of a fit that was read from a file, which has no data.

    Examples
    --------
    >>> import hidiv as hd
    >>> hd.fit([0, 1, 0, 2, 1], None, 1, "poisson", n_init=1, seed=0)
    Model: 1 state, poisson emission; log-likelihood -5.58572 after 3 iterations, converged, BIC 12.7809
    """

    model: Model
    log_likelihood: float
    history: tuple[float, ...]
    converged: bool
    n_parameters: int
    n_observations: int  # nodes with any evidence
    notes: tuple[str, ...] = ()
    starts: tuple[float, ...] = ()  # log-likelihood each climb reached, before the best was finished
    restarts: tuple[Model, ...] = field(default=(), compare=False)
    data: Any = field(default=None, compare=False, repr=False)  # what it was fitted to, for standard errors
    fixed: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @property
    def n_iter(self) -> int:
        """The number of iterations made."""
        return len(self.history) - 1

    @property
    def bic(self) -> float:
        """Bayesian information criterion; smaller is better."""
        return -2.0 * self.log_likelihood + self.n_parameters * log(max(self.n_observations, 1))

    @property
    def aic(self) -> float:
        """Akaike information criterion; smaller is better."""
        return -2.0 * self.log_likelihood + 2.0 * self.n_parameters

    @cached_property
    def errors(self) -> Any:
        """The standard errors of the parameters, `hd.standard_errors` of this fit."""
        from hidiv.fitting.parameter_errors import standard_errors

        return standard_errors(self)

    def summary(self) -> str:
        """The fit and a table of its parameters with their standard errors and intervals, where its data are known."""
        return repr(self) if self.data is None else f"{self!r}\n{self.errors.summary()}"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers and texts, the model in the form of its file."""
        return {
            "format": "hidiv.fit", "version": 1,
            "model": self.model.to_dict(), "log_likelihood": plain(self.log_likelihood),
            "history": plain(self.history), "converged": self.converged, "n_iter": self.n_iter,
            "n_parameters": self.n_parameters, "n_observations": self.n_observations, "bic": plain(self.bic),
            "aic": plain(self.aic), "notes": list(self.notes), "starts": plain(self.starts),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> FitResult:
        """The fit of a description as `to_dict` writes it; anything else is refused."""
        check_keys(InvalidFile, described, (*KEPT, "n_iter", "bic", "aic"), ("format", "version"))
        check_format(InvalidFile, described, "hidiv.fit")
        try:
            model = Model.from_dict(described["model"])
        except InvalidModel as error:
            raise InvalidFile(f"model: {error}") from None
        if type(described["converged"]) is not bool:
            refuse(InvalidFile, "converged", "must be true or false", repr(described["converged"]))
        for key in ("n_parameters", "n_observations"):
            whole(key, described[key], 0, error=InvalidFile)
        history = _numbers("history", described["history"])
        if not history:
            refuse(InvalidFile, "history", "must hold the log-likelihood of the start", "none")
        notes = described["notes"]
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            refuse(InvalidFile, "notes", "must be a list of texts", notes)
        return cls(
            model, _numbers("log_likelihood", [described["log_likelihood"]])[0], history, described["converged"],
            described["n_parameters"], described["n_observations"], tuple(notes),
            _numbers("starts", described["starts"]),
        )  # fmt: skip

    def _repr_html_(self) -> str:
        """How the fit went, and the model, in a notebook."""
        facts: list[tuple[str, list[Any]]] = [
            ("log-likelihood", [f"{self.log_likelihood:.6g}"]),
            ("BIC", [f"{self.bic:.6g}"]),
            ("iterations", [self.n_iter]),
            ("converged", ["yes" if self.converged else "no"]),
        ]
        curve = line(list(self.history), "log-likelihood by iteration")
        return card("fit", table([""], facts), curve, self.model._repr_html_(), notes=self.notes)

    def __repr__(self) -> str:
        ending = "converged" if self.converged else "not converged"
        notes = "".join(f"\n  {note}" for note in self.notes)
        return (
            f"{self.model.headline}; log-likelihood {self.log_likelihood:.6g} "
            f"after {counted(self.n_iter, 'iteration')}, "
            f"{ending}, BIC {self.bic:.6g}{notes}"
        )


KEPT = tuple(each.name for each in fields(FitResult) if each.compare)  # what files hold


def _numbers(place: str, values: Any) -> tuple[float, ...]:
    """The numbers of a list, as JSON writes them."""
    if not isinstance(values, list):
        refuse(InvalidFile, place, "must be a list of numbers", values)
    try:
        return tuple(number(value) for value in values)
    except TypeError as error:
        refuse(InvalidFile, place, "must hold numbers", str(error))


def count_parameters(model: Model, fixed: frozenset[str] = frozenset(), zeros_stay: bool = False) -> int:
    """Free parameters of a model of this form: the root's law, every row of every transition with its end, emissions.

    zeros_stay: probabilities that are 0 in the start of a climb stay 0 (a transition left out, a symbol a state never
    shows) and are not counted.
    """
    count = 0 if "initial" in fixed else free_entries(model.initial[None], zeros_stay)
    if "transition" not in fixed:
        rows = model.transitions[model.has_transition]
        if model.end is not None:
            rows = np.concatenate([rows, model.end[None, :, None]], axis=2)
        count += free_entries(rows, zeros_stay)
    if "emission" not in fixed:
        count += sum(family.n_free(fixed, zeros_stay) for family in model.emissions)
    return count
