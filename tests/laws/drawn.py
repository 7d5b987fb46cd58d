"""Models of every family with ordinary and extreme parameters, drawn by whoever chooses: Hypothesis or a generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hidiv as hd

Choose = Callable[[Any], Any]  # one member of a sequence

ORDINARY = (0.25, 0.5, 0.8125, 1.0, 1.5, 2.0, 3.75, 12.0)
SCALES = (
    5e-324, 1e-308, 1e-300, 1e-200, 1e-150, 1e-100, 1e-30, 1e-16, 1e-8, 1e-3, 1e3, 1e6, 1e9, 1e15, 2.0**53, 1e18, 1e19,
    1e30, 1e100, 1e150, 1e155, 1e200, 1e217, 1e300, 1.7e308,
)  # fmt: skip
PROBS = (5e-324, 1e-300, 1e-100, 1e-16, 1e-8, 1e-3, 1 - 1e-3, 1 - 1e-8, 1 - 2.0**-53)
ORDINARY_PROBS = (0.0625, 0.25, 0.5, 0.6875, 0.9375)
TRIALS = (0.0, 1.0, 2.0, 7.0, 40.0, 1e3, 1e6, 1e9, 1e15, 2.0**53, 1e18, 1e19, 1e100, 1e300)

# Every family of the registry, the Gaussian in its forms, products and mixtures of several kinds.
KINDS = (
    "categorical", "bernoulli", "gaussian", "gaussian var", "gaussian diagonal", "gaussian full", "poisson",
    "exponential", "gamma", "geometric", "binomial", "negative_binomial", "laplace", "log_normal",
    "generalized_gaussian", "von_mises", "beta", "multinomial", "silent", "product", "mixture gaussian",
    "mixture poisson", "mixture categorical", "mixture full", "mixture beta", "mixture negative_binomial",
)  # fmt: skip


class Parameters:
    """Numbers for one model: ordinary ones, or extreme ones among them."""

    def __init__(self, choose: Choose, extreme: bool) -> None:
        self.choose, self.extreme = choose, extreme

    def _one(self, ordinary: tuple[float, ...], extreme: tuple[float, ...]) -> float:
        return float(self.choose(extreme if self.extreme and self.choose((False, True)) else ordinary))

    def scale(self) -> float:
        return self._one(ORDINARY, SCALES)

    def place(self) -> float:
        return self.choose((-1.0, 1.0)) * self._one((0.0, *ORDINARY), SCALES)

    def prob(self) -> float:
        return self._one(ORDINARY_PROBS, (*PROBS, 0.0, 1.0))

    def success(self) -> float:
        return self._one(ORDINARY_PROBS, (*PROBS, 1.0))

    def trials(self) -> float:
        return self._one((1.0, 2.0, 7.0), TRIALS)

    def row(self, size: int) -> list[float]:
        """Weights that sum to one; an extreme row may have zeros and denormal entries."""
        weights = [self._one((1.0, 2.0, 5.0), (0.0, 5e-324, 1e-300, 1e-16, 1e-8)) for _ in range(size)]
        if not sum(weights) > 1e-290:
            weights[0] = 1.0
        total = sum(weights)
        return [weight / total for weight in weights]

    def covariance(self) -> list[list[float]]:
        """Two columns; an extreme one may be nearly singular, or have very unlike scales."""
        a, b = self.scale(), self.scale()
        r = self._one((0.0, 0.5, -0.75), (1 - 1e-3, 1 - 1e-8, -1 + 1e-12, 1 - 1e-15))
        off = min(max(r * a * b, -1.7e308), 1.7e308)
        return [[min(a * a, 1.7e308), off], [off, min(b * b, 1.7e308)]]


def emission(numbers: Parameters, kind: str, n_states: int) -> Any:
    """One family; HidivError where the constructor refuses the numbers."""

    def each(one: Callable[[], Any]) -> list[Any]:
        return [one() for _ in range(n_states)]

    n = numbers
    if kind.startswith("mixture "):
        inner = kind.removeprefix("mixture ")
        inner = "gaussian full" if inner == "full" else inner
        return hd.Mixture(each(lambda: n.row(2)), [emission(n, inner, n_states) for _ in range(2)])
    makers: dict[str, Callable[[], Any]] = {
        "categorical": lambda: hd.Categorical(each(lambda: n.row(3))),
        "bernoulli": lambda: hd.Bernoulli(each(n.prob)),
        "gaussian": lambda: hd.Gaussian(each(n.place), std=each(n.scale)),
        "gaussian var": lambda: hd.Gaussian(each(n.place), var=each(n.scale)),
        "gaussian diagonal": lambda: hd.Gaussian(
            each(lambda: [n.place(), n.place()]), std=each(lambda: [n.scale(), n.scale()])
        ),
        "gaussian full": lambda: hd.Gaussian(each(lambda: [n.place(), n.place()]), cov=each(n.covariance)),
        "poisson": lambda: hd.Poisson(each(n.scale)),
        "exponential": lambda: hd.Exponential(each(n.scale)),
        "gamma": lambda: hd.Gamma(each(n.scale), each(n.scale)),
        "geometric": lambda: hd.Geometric(each(n.success)),
        "binomial": lambda: hd.Binomial(each(n.trials), each(n.prob)),
        "negative_binomial": lambda: hd.NegativeBinomial(each(n.scale), each(n.success)),
        "laplace": lambda: hd.Laplace(each(n.place), each(n.scale)),
        "log_normal": lambda: hd.LogNormal(each(n.place), each(n.scale)),
        "generalized_gaussian": lambda: hd.GeneralizedGaussian(each(n.scale), each(n.scale)),
        "von_mises": lambda: hd.VonMises(each(n.place), each(n.scale)),
        "beta": lambda: hd.Beta(each(n.scale), each(n.scale)),
        "multinomial": lambda: hd.Multinomial(each(n.trials), each(lambda: n.row(3))),
        "silent": lambda: hd.Silent(n_states),
        "product": lambda: hd.Product([emission(n, each_kind, n_states) for each_kind in ("poisson", "gaussian")]),
    }
    return makers[kind]()


def model(numbers: Parameters, kind: str, n_states: int) -> hd.Model:
    """A homogeneous model; its rows are as ordinary or extreme as its emissions."""
    return hd.Model(
        numbers.row(n_states), [numbers.row(n_states) for _ in range(n_states)], emission(numbers, kind, n_states)
    )
