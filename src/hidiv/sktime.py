"""Distances of time series for sktime: a pairwise panel transformer on the models fitted to each series.

    from hidiv.sktime import HMMPairwise

sktime is imported here and nowhere else: `pip install sktime`.
"""

from __future__ import annotations

from typing import Any

from hidiv.types import Array

try:
    from sktime.dists_kernels.base import BasePairwiseTransformerPanel
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("hidiv.sktime needs sktime: pip install sktime") from error

from hidiv.sklearn import HMMDistances


class HMMPairwise(BasePairwiseTransformerPanel):  # type: ignore[misc]
    """Distances of the series of a panel by hidden Markov models, one fitted to each series.

    Parameters
    ----------
    n_states : int, default 2
        Hidden states of every model.
    emission : str, default "gaussian"
        The family of the observations, as in `hd.fit`; "gaussian" takes any number of columns.
    quantity : {"observed", "aligned", "joint"}, default "observed"
        Which divergence is taken; the first two do not depend on the numbering of the states.
    length : int, default 100
        The number of observations that the divergence is about.
    n_init : int, default 3
        Starts of every fit.
    pseudo_count : float, default 1.0
        Added to every expected count, so that short series leave no transition impossible.
    random_state : int or None, default None
        The seed of the fits and of the draws; None is 0, so that the same data give the same distances.

    Notes
    -----
    Jeffreys' divergence, as of `hidiv.sklearn.HMMDistances`. Series may differ in length.

    Examples
    --------
    >>> from hidiv.sktime import HMMPairwise
    >>> import numpy as np
    >>> panel = np.random.default_rng(0).normal(size=(4, 1, 60))
    >>> HMMPairwise(n_states=1).transform(panel).shape
    (4, 4)
    """

    _tags = {  # noqa: RUF012  (sktime reads a plain dict)
        "X_inner_mtype": "df-list",
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "capability:missing_values": False,
        "symmetric": True,
        "pwtrafo_type": "distance",
        "capability:random_state": True,
        "property:randomness": "derandomized",
    }

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
        super().__init__()

    def _transform(self, X: Any, X2: Any = None) -> Array:
        """(M, M'): the distances of the series of one panel from those of another, or among themselves."""
        distances = HMMDistances(**self.get_params())
        panels = [None if panel is None else [each.to_numpy(dtype=float) for each in panel] for panel in (X, X2)]
        models, others = (None if panel is None else distances.models_of(panel) for panel in panels)
        assert models is not None
        return distances.distances_of(models, None if X2 is X else others)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters that sktime's own tests use."""
        return [{"n_states": 1}, {"n_states": 2, "quantity": "aligned", "n_init": 1}]
