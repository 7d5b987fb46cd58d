"""hmmlearn: categorical, multinomial, Gaussian, Gaussian mixture and Poisson models, in both directions.

A variational model is read as the point model that its own `score` uses: posterior means of the probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidiv.adapters.as_model import as_model
from hidiv.adapters.foreign import attribute, class_names, covariances, laws, numbers, unknown
from hidiv.emissions.composite.mixture.mixture import Mixture
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.families.multinomial import Multinomial
from hidiv.emissions.families.poisson import Poisson
from hidiv.emissions.family import Family
from hidiv.emissions.parameters import wide
from hidiv.errors import InvalidModel, MissingExtra, refuse
from hidiv.models.model import Model
from hidiv.types import Array


def read(obj: Any) -> Model:
    """The model of a fitted hmmlearn object."""
    family = next((FAMILIES[name] for name in class_names(obj) if name in FAMILIES), None)
    if family is None:
        unknown("class", obj, FAMILIES)
    return Model(
        laws("startprob_", attribute(obj, "startprob_"), (1,)),
        laws("transmat_", attribute(obj, "transmat_"), (2,)),
        family(obj),
    )


def categorical(obj: Any) -> Family:
    """Categorical laws."""
    return Categorical(laws("emissionprob_", attribute(obj, "emissionprob_"), (2,)))


def poisson(obj: Any) -> Family:
    """Independent Poisson columns."""
    return Poisson(numbers("lambdas_", attribute(obj, "lambdas_"), (2,)))


def gaussian(obj: Any) -> Family:
    """Gaussian laws from `_covars_`, as `covars_` expands to full matrices, wrong ones for a fitted spherical model.

    There `fit` leaves (K, F) equal columns, which the property flattens as if they were (K,).
    """
    mean = numbers("means_", attribute(obj, "means_"), (2,))
    covars, (states, features) = attribute(obj, "_covars_"), mean.shape
    if obj.covariance_type == "spherical":
        each = numbers("_covars_", covars, (1, 2)).reshape(states, -1)
        if (each != each[:, :1]).any():
            refuse(InvalidModel, "_covars_", "a spherical state has one variance", each.tolist())
        return Gaussian(mean, var=np.repeat(each[:, :1], features, axis=1))
    if obj.covariance_type == "diag":
        return Gaussian(mean, var=numbers("_covars_", covars, (2,)))
    full = covariances("_covars_", covars, (2, 3))
    return Gaussian(mean, cov=np.broadcast_to(full, (states, features, features)))


def multinomial(obj: Any) -> Family:
    """Multinomial laws; n_trials is a number or the total of every observation, a Model has one for each state."""
    probs = laws("emissionprob_", attribute(obj, "emissionprob_"), (2,))
    trials = np.unique(numbers("n_trials", attribute(obj, "n_trials"), (0, 1)))
    if trials.size != 1:
        rule = "the number of trials varies between observations, which cannot be represented"
        refuse(InvalidModel, "n_trials", rule, trials.tolist())
    return Multinomial(np.repeat(trials, len(probs)), probs)


def mixture(obj: Any) -> Family:
    """Mixtures of weights (K, C) and means (K, C, F); "tied" is one covariance for all components of a state."""
    weights = laws("weights_", attribute(obj, "weights_"), (2,))
    means = numbers("means_", attribute(obj, "means_"), (3,))
    covars, kind = attribute(obj, "covars_"), obj.covariance_type
    if kind in ("full", "tied"):
        full = covariances("covars_", covars, (3, 4))
        each = [full if kind == "tied" else full[:, c] for c in range(means.shape[1])]
        members = [Gaussian(means[:, c], cov=cov) for c, cov in enumerate(each)]
    else:
        var = numbers("covars_", covars, (2, 3)).reshape(*means.shape[:2], -1)
        var = np.broadcast_to(var, means.shape)
        members = [Gaussian(means[:, c], var=var[:, c]) for c in range(means.shape[1])]
    return Mixture(weights, members)


FAMILIES: dict[str, Callable[[Any], Family]] = {
    "CategoricalHMM": categorical,
    "VariationalCategoricalHMM": categorical,
    "GMMHMM": mixture,
    "GaussianHMM": gaussian,
    "VariationalGaussianHMM": gaussian,
    "MultinomialHMM": multinomial,
    "PoissonHMM": poisson,
}


def to_hmmlearn(model: Any) -> Any:
    """Convert a model to one of hmmlearn, ready to score, decode and sample.

    Parameters
    ----------
    model : Model or object of a supported library
        Whatever `hd.as_model` takes, with categorical, multinomial, Gaussian, Gaussian mixture or Poisson emissions,
        without groups and without end probabilities.

    Returns
    -------
    hmmlearn.hmm.CategoricalHMM, MultinomialHMM, GaussianHMM, GMMHMM or PoissonHMM
        The same law; `hd.as_model` converts it back.

    Raises
    ------
    InvalidModel
        Where hmmlearn has no such model.
    MissingExtra
        Where hmmlearn is not installed.

    Examples
    --------
    >>> import hidiv as hd
    >>> p = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([[1.0], [4.0]]))
    >>> hd.as_model(hd.to_hmmlearn(p)) == p
    True
    """
    ours = as_model(model)
    if ours.n_groups > 1:
        refuse(InvalidModel, ours.title, "hmmlearn has no groups")
    if ours.end is not None:
        refuse(InvalidModel, ours.title, "hmmlearn has no end probabilities")
    family = ours.emissions[0]
    if type(family) not in WRITERS:
        rule = f"hmmlearn has no {family.name} emissions"
        refuse(InvalidModel, ours.title, rule, remedy="it has " + ", ".join(known.name for known in WRITERS))
    try:
        from hmmlearn import hmm
    except ImportError:
        refuse(MissingExtra, "to_hmmlearn", "needs hmmlearn", remedy="pip install 'hidiv[hmmlearn]'")
    theirs = WRITERS[type(family)](hmm, family)
    theirs.startprob_, theirs.transmat_ = np.array(ours.initial), np.array(ours.transitions[0])
    return theirs


def _to_categorical(hmm: Any, family: Any) -> Any:
    """A CategoricalHMM with the emissions of a family."""
    theirs = hmm.CategoricalHMM(family.n_states)
    theirs.emissionprob_, theirs.n_features = np.array(family.probs), family.n_symbols
    return theirs


def _to_multinomial(hmm: Any, family: Any) -> Any:
    """A MultinomialHMM with the emissions of a family."""
    if np.ptp(family.trials):
        refuse(InvalidModel, "trials", "hmmlearn has one number of trials for all states", family.trials.tolist())
    theirs = hmm.MultinomialHMM(family.n_states, n_trials=int(family.trials[0]))
    theirs.emissionprob_, theirs.n_features = np.array(family.probs), family.n_features
    return theirs


def _to_poisson(hmm: Any, family: Any) -> Any:
    """A PoissonHMM with the emissions of a family."""
    theirs = hmm.PoissonHMM(family.n_states)
    theirs.lambdas_, theirs.n_features = np.array(wide(family.rate)), family.n_features
    return theirs


def _to_gaussian(hmm: Any, family: Any) -> Any:
    """A GaussianHMM with the emissions of a family, diagonal or full."""
    theirs = hmm.GaussianHMM(family.n_states, covariance_type="diag" if family.cov is None else "full")
    theirs.means_, theirs.n_features = np.array(wide(family.mean)), family.n_features
    theirs.covars_ = np.array(family.variance if family.cov is None else family.cov)
    return theirs


def _to_mixture(hmm: Any, family: Any) -> Any:
    """A GMMHMM of Gaussian laws, with diagonal covariances if all components have them, else full ones."""
    members = family.components
    if any(not isinstance(member, Gaussian) for member in members):
        names = ", ".join(member.name for member in members)
        refuse(InvalidModel, "components", "hmmlearn mixes Gaussian laws alone", names)
    diagonal = all(member.cov is None for member in members)
    kind = "diag" if diagonal else "full"
    theirs = hmm.GMMHMM(family.n_states, n_mix=len(members), covariance_type=kind)
    theirs.weights_, theirs.n_features = np.array(family.weights), family.n_features
    theirs.means_ = np.stack([wide(member.mean) for member in members], axis=1)
    spreads = [member.variance if diagonal else _full(member) for member in members]
    theirs.covars_ = np.stack(spreads, axis=1)
    return theirs


def _full(family: Gaussian) -> Array:
    """(K, F, F): the covariances, whichever way they were given."""
    return family.variance[:, :, None] * np.eye(family.n_features) if family.cov is None else family.cov


WRITERS: dict[type[Family], Callable[[Any, Any], Any]] = {
    Categorical: _to_categorical,
    Multinomial: _to_multinomial,
    Gaussian: _to_gaussian,
    Mixture: _to_mixture,
    Poisson: _to_poisson,
}
