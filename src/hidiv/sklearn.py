"""Distances of sequences for scikit-learn: a hidden Markov model is fitted to each, and the models are compared.

    from hidiv.sklearn import HMMDistances

scikit-learn is imported here and nowhere else: `pip install hidiv[sklearn]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hidiv.comparison.pairwise.kl import pairwise_kl
from hidiv.errors import HidivError, refuse
from hidiv.fitting.fit import fit
from hidiv.models.model import Model
from hidiv.types import Array

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("hidiv.sklearn needs scikit-learn: pip install 'hidiv[sklearn]'") from error


class HMMDistances(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Distances of sequences to the sequences seen in `fit`, by the models fitted to each.

    Parameters
    ----------
    n_states : int, default 2
        Hidden states of every model.
    emission : str, default "gaussian"
        The family of the observations, as in `hd.fit`.
    quantity : {"observed", "aligned", "joint"}, default "observed"
        Which divergence is taken; the first two do not depend on the numbering of the states.
    length : int, default 100
        The number of observations that the divergence is about.
    n_init : int, default 3
        Starts of every fit.
    pseudo_count : float, default 1.0
        Added to every expected count, so that short sequences leave no transition impossible.
    random_state : int, RandomState or None, default None
        The seed of the fits and of the draws; None is 0, so that the same data give the same distances.

    Attributes
    ----------
    models_ : list of Model
        One model for each sequence seen in `fit`.
    n_features_in_ : int
        Observations of a sequence where `fit` was given a matrix.

    Notes
    -----
    The distance is Jeffreys', D(p || q) + D(q || p), of definitions (3.7). A matrix has one sequence of numbers in each
    row; a list holds sequences of any length, each (n,) or (n, F). Observed divergences of models with several states
    are partly drawn: a distance may change by its standard error with the sequences that are transformed together.

    Examples
    --------
    >>> import numpy as np
    >>> from hidiv.sklearn import HMMDistances
    >>> rng = np.random.default_rng(0)
    >>> calm, wild = rng.normal(size=(4, 60)), 3 * rng.normal(size=(4, 60))
    >>> distances = HMMDistances(n_states=1).fit_transform(np.vstack([calm, wild]))
    >>> distances.shape, bool(distances[0, 1] < distances[0, 5])
    ((8, 8), True)
    """

    def __init__(
        self,
        n_states: int = 2,
        emission: str = "gaussian",
        quantity: str = "observed",
        length: int = 100,
        n_init: int = 3,
        pseudo_count: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.n_states = n_states
        self.emission = emission
        self.quantity = quantity
        self.length = length
        self.n_init = n_init
        self.pseudo_count = pseudo_count
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> HMMDistances:
        """Fit a model to each sequence.

        Parameters
        ----------
        X : array of shape (n_sequences, n_observations), or list of sequences
            The sequences.
        y : ignored
            For pipelines.

        Returns
        -------
        HMMDistances
            Itself.
        """
        self.models_ = self.models_of(self._sequences(X, reset=True))
        self._n_features_out = len(self.models_)
        return self

    def transform(self, X: Any) -> Array:
        """Compute the distances of sequences to those seen in `fit`.

        Parameters
        ----------
        X : array of shape (n_sequences, n_observations), or list of sequences
            The sequences, whose models are fitted first.

        Returns
        -------
        ndarray of shape (n_sequences, n_sequences_seen)
            The distances, at least 0.
        """
        check_is_fitted(self)
        return self.distances_of(self.models_of(self._sequences(X, reset=False)), self.models_)

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit a model to each sequence and compute the distances among them.

        Parameters
        ----------
        X : array of shape (n_sequences, n_observations), or list of sequences
            The sequences.
        y : ignored
            For pipelines.

        Returns
        -------
        ndarray of shape (n_sequences, n_sequences)
            The distances: symmetric, 0 on the diagonal.
        """
        return self.distances_of(self.fit(X).models_, None)

    def distances_of(self, models: list[Model], others: list[Model] | None) -> Array:
        """(M, M'): Jeffreys' divergences, at least 0."""
        matrix = pairwise_kl(
            models, self.length, others, symmetric=True,
            quantity=self.quantity, seed=self._seed() if self.quantity == "observed" else None,  # type: ignore[arg-type]
        )  # fmt: skip
        return np.asarray(np.maximum(matrix, 0.0), dtype=np.float64)

    def _sequences(self, X: Any, reset: bool) -> list[Any]:
        """The sequences of a matrix, row by row, or of a list as they are."""
        if isinstance(X, list | tuple) and len(X) and np.ndim(X[0]) >= 1 and _ragged(X):
            if reset:
                self.n_features_in_ = 1 if np.ndim(X[0]) == 1 else int(np.shape(X[0])[1])
            return list(X)
        checked = validate_data(self, X, reset=reset, dtype=np.float64)
        return list(checked)

    def models_of(self, sequences: list[Any]) -> list[Model]:
        """One model for each sequence; each depends on its own sequence and the seed alone."""
        models = []
        for i, sequence in enumerate(sequences):
            try:
                result = fit(
                    sequence, None, self.n_states, self.emission,
                    n_init=self.n_init, pseudo_count=self.pseudo_count, seed=self._seed(), workers=1, progress=False,
                )  # fmt: skip
            except HidivError as error:
                refuse(type(error), f"sequence {i}", str(error))
            models.append(result.model)
        return models

    def _seed(self) -> int:
        """The seed that `random_state` means."""
        if self.random_state is None or isinstance(self.random_state, int | np.integer):
            return int(self.random_state or 0)
        return int(check_random_state(self.random_state).randint(2**31))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = not (self.random_state is None or isinstance(self.random_state, int | np.integer))
        return tags


def _ragged(sequences: Any) -> bool:
    """Whether sequences differ in length or have several columns, so that they are no matrix."""
    return len({np.shape(sequence)[0] for sequence in sequences}) > 1 or np.ndim(sequences[0]) > 1
