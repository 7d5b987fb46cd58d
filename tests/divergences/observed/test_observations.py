"""Models of different families: comparable where they show the same kind of thing, refused where they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import expon, norm

import hidiv as hd

HALVES = [[0.5, 0.5], [0.5, 0.5]]


def model(emission) -> hd.Model:
    """Without memory, so that the rate is the divergence of two mixtures."""
    return hd.Model([0.5, 0.5], HALVES, emission)


SYMBOLS = model(hd.Categorical([[0.5, 0.5], [0.2, 0.8]]))
NUMBERS = model(hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]))
POSITIVE = model(hd.Exponential([1.0, 2.0]))
COUNTS = model(hd.Poisson([1.0, 2.0]))
BITS = model(hd.Bernoulli([0.1, 0.2]))
ANGLES = model(hd.VonMises([0.0, 1.0], [1.0, 2.0]))
PAIRS = model(hd.Product([hd.Gaussian([0.0, 1.0], std=[1.0, 1.0]), hd.Poisson([1.0, 2.0])]))
SWAPPED = model(hd.Product([hd.Poisson([1.0, 2.0]), hd.Gaussian([0.0, 1.0], std=[1.0, 1.0])]))


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (SYMBOLS, NUMBERS),
        (NUMBERS, SYMBOLS),
        (SYMBOLS, COUNTS),
        (COUNTS, BITS),
        (NUMBERS, ANGLES),
        (PAIRS, SWAPPED),
        (PAIRS, NUMBERS),
    ],
)
def test_different_observations_are_refused(p: hd.Model, q: hd.Model) -> None:
    for call in (lambda: hd.observed_kl(p, q, 3), lambda: hd.observed_kl_rate(p, q)):
        with pytest.raises(hd.errors.IncompatibleModels, match="p shows .* and q shows .*; compare models of the same"):
            call()


def test_bits_are_symbols() -> None:
    assert hd.observed_kl(BITS, SYMBOLS, 3).status == "exact"


def test_families_without_a_closed_form_are_integrated() -> None:
    def gain(x: float) -> float:
        p = 0.5 * expon.pdf(x) + 0.5 * expon.pdf(x, scale=0.5)
        return float(p * math.log(p / (0.5 * norm.pdf(x) + 0.5 * norm.pdf(x, 1.0))))

    truth = quad(gain, 0.0, 30.0, epsabs=1e-13, limit=200, points=[1.0, 5.0])[0]
    # quad's own tolerance
    assert np.isclose(hd.observed_kl_rate(POSITIVE, NUMBERS).value, truth, rtol=1e-9)
    assert np.isclose(hd.observed_kl(POSITIVE, NUMBERS, 3).value, 3 * truth, rtol=1e-9)


def test_what_q_cannot_show_is_infinite() -> None:
    found = hd.observed_kl(NUMBERS, POSITIVE, 3, seed=1)
    assert found.value == math.inf
    assert found.infinite
