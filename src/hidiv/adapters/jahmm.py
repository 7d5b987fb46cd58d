"""jahmm's text files: integer, Gaussian, multivariate Gaussian and Gaussian mixture observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hidiv.adapters.tokens import Tokens
from hidiv.emissions.composite.mixture.mixture import Mixture
from hidiv.emissions.families.categorical import Categorical
from hidiv.emissions.families.gaussian import Gaussian
from hidiv.emissions.family import Family
from hidiv.models.model import Model


def read_text(text: str, place: str) -> Model:
    """The model of a text `Hmm v1.0`, whose rounded probabilities are rescaled.

    >>> text = "Hmm v1.0  NbStates 1  State Pi 1.0 A 1.0 GaussianOPDF [ 1.2 .3 ]"
    >>> read_text(text, "coin.hmm").emission.var
    array([0.3])
    """
    tokens = Tokens(text, place)
    tokens.expect("Hmm", "v1.0", "NbStates")
    n_states = tokens.count("the number of states", least=1)
    initial, transition, laws = [], [], []
    kind = ""
    written = []
    for _ in range(n_states):
        tokens.expect("State", "Pi")
        written.append(tokens.peek())
        initial.append(tokens.number("Pi"))
        tokens.expect("A")
        transition.append(tokens.law("transition probabilities", n_states))
        own_kind = tokens.one_of(READERS, "the kind of observation")
        if own_kind != kind and kind:
            tokens.refuse(f"all states must have {kind} observations", own_kind)
        kind = own_kind
        laws.append(READERS[kind](tokens))
    tokens.finish()
    return Model(tokens.rescaled("Pi", initial, written), transition, FAMILIES[kind](tokens, laws))


def _integers(tokens: Tokens) -> Any:
    """Probabilities of integers from 0, in brackets."""
    return tokens.bracketed_law("IntegerOPDF")


def _gaussian(tokens: Tokens) -> Any:
    """A mean and a variance, written [ mean variance ]."""
    values = tokens.bracketed("GaussianOPDF")
    if len(values) != 2:
        tokens.refuse("GaussianOPDF has a mean and a variance", values)
    return values


def _vectors(tokens: Tokens) -> Any:
    """A mean and a covariance, written [ [ mean ] [ [ row of the covariance ] ... ] ]."""
    tokens.expect("[")
    mean = tokens.bracketed("the mean")
    tokens.expect("[")
    cov = [tokens.bracketed("the covariance") for _ in mean]
    tokens.expect("]", "]")
    if not mean or any(len(row) != len(mean) for row in cov):
        tokens.refuse(f"the covariance must be {len(mean)} x {len(mean)}", [len(row) for row in cov])
    return mean, cov


def _mixture(tokens: Tokens) -> Any:
    """Means, variances and proportions, written [ [ means ] [ variances ] [ proportions ] ]."""
    tokens.expect("[")
    means, variances = tokens.bracketed("the means"), tokens.bracketed("the variances")
    shares = tokens.bracketed_law("proportions")
    tokens.expect("]")
    if not len(means) == len(variances) == len(shares):
        tokens.refuse(
            "a mixture has as many means, variances and proportions", [len(means), len(variances), len(shares)]
        )
    return means, variances, shares


def _same_size(tokens: Tokens, sizes: list[int], what: str) -> None:
    """Refuse states of different sizes."""
    if len(set(sizes)) > 1:
        tokens.refuse(f"all states must have as many {what}", sizes)


def _to_categorical(tokens: Tokens, laws: list[Any]) -> Family:
    """The family of IntegerOPDF."""
    _same_size(tokens, [len(law) for law in laws], "symbols")
    return Categorical(laws)


def _to_gaussian(tokens: Tokens, laws: list[Any]) -> Family:
    """The family of GaussianOPDF."""
    mean, var = np.array(laws).T
    return Gaussian(mean, var=var)


def _to_vectors(tokens: Tokens, laws: list[Any]) -> Family:
    """The family of MultiGaussianOPDF."""
    _same_size(tokens, [len(mean) for mean, _ in laws], "columns")
    return Gaussian([mean for mean, _ in laws], cov=[cov for _, cov in laws])


def _to_mixture(tokens: Tokens, laws: list[Any]) -> Family:
    """The family of GaussianMixtureOPDF."""
    _same_size(tokens, [len(means) for means, _, _ in laws], "components")
    means, variances, shares = (np.array(part) for part in zip(*laws, strict=True))
    return Mixture(shares, [Gaussian(means[:, c], var=variances[:, c]) for c in range(shares.shape[1])])


READERS: dict[str, Callable[[Tokens], Any]] = {
    "IntegerOPDF": _integers,
    "GaussianOPDF": _gaussian,
    "GaussianMixtureOPDF": _mixture,
    "MultiGaussianOPDF": _vectors,
}
FAMILIES: dict[str, Callable[[Tokens, list[Any]], Family]] = {
    "IntegerOPDF": _to_categorical,
    "GaussianOPDF": _to_gaussian,
    "GaussianMixtureOPDF": _to_mixture,
    "MultiGaussianOPDF": _to_vectors,
}
