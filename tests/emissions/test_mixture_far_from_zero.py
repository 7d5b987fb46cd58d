"""Mixtures that are narrow beside their distance from 0: points near 1e9 are not blurred."""

from __future__ import annotations

import numpy as np
import pytest

import hidiv as hd
from hidiv.emissions.composite.mixture import integrals

LAWS = {
    "gaussian": lambda loc, scale: hd.Gaussian([loc], std=[scale]),
    "gaussian var": lambda loc, scale: hd.Gaussian([loc], var=[scale]),
    "laplace": lambda loc, scale: hd.Laplace([loc], [scale]),
}
CLOSE = {"rtol": 1e-13, "atol": 0.0}
ORDERS = (0.3, 0.5, 2.0)


def mixture(kind, weights, places, scales):
    return hd.Mixture([weights], [LAWS[kind](*each) for each in zip(places, scales, strict=True)])


@pytest.mark.parametrize("kind", LAWS)
def test_moved_mixtures_have_the_same_divergences(kind):
    def pair(by):
        p = mixture(kind, [0.25, 0.75], [by, by + 2.0], [1.0, 2.0])
        return p, mixture(kind, [0.5, 0.5], [by + 0.5, by - 1.0], [1.5, 1.75])

    near = pair(0.0)
    for far in (pair(1e9), pair(-3e8), pair(2.0**20)):
        np.testing.assert_allclose(far[0].kl(far[1]), near[0].kl(near[1]), **CLOSE)
        for alpha in ORDERS:
            np.testing.assert_allclose(far[0].renyi(far[1], alpha), near[0].renyi(near[1], alpha), **CLOSE)


@pytest.mark.parametrize("kind", LAWS)
def test_components_far_apart_are_compared_one_by_one(kind):
    """What one component shows the others never do, so that the divergences of components add up."""
    places, scales = np.array([-1e9, 0.0, 1e9]), ([1.0, 1.0, 0.5], [1.5, 1.25, 0.75])
    moved = places + np.array([0.25, 0.5, 1.0])
    weights = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.125, 0.625])
    p, q = mixture(kind, weights[0], places, scales[0]), mixture(kind, weights[1], moved, scales[1])
    each = list(zip(p.components, q.components, strict=True))
    one_by_one = np.array([a.kl(b)[0] for a, b in each])
    np.testing.assert_allclose(p.kl(q)[0], weights[0] @ (np.log(weights[0] / weights[1]) + one_by_one), **CLOSE)
    for alpha in ORDERS:
        logs = (alpha - 1.0) * np.array([a.renyi(b, alpha)[0] for a, b in each])
        total = (weights[0] ** alpha * weights[1] ** (1.0 - alpha)) @ np.exp(logs)
        np.testing.assert_allclose(p.renyi(q, alpha)[0], np.log(total) / (alpha - 1.0), **CLOSE)


def test_a_wide_component_that_hardly_changes_keeps_its_digits():
    """Its place is moved exactly though the anchor is no round number."""
    p, q = (mixture("gaussian", [0.5, 0.5], [1e6 + 0.3, place], [1.0, 1e9]) for place in (1e9, 1e9 + 1e-5))
    wide = hd.Gaussian([1e9], std=[1e9]), hd.Gaussian([1e9 + 1e-5], std=[1e9])
    np.testing.assert_allclose(p.kl(q), 0.5 * wide[0].kl(wide[1]), rtol=1e-6)  # the narrow one hides 1e-8 of it


def test_families_without_a_location_stay_where_they_are(monkeypatch):
    assert hd.GeneralizedGaussian([1.0], [1.5]).moved(1.0) is None
    mixed = hd.Mixture([[0.5, 0.5]], [hd.Gaussian([1e6], std=[1.0]), hd.GeneralizedGaussian([1.0], [1.5])])
    assert mixed.moved(1.0) is None
    other = hd.Mixture([[0.25, 0.75]], mixed.components)
    monkeypatch.setattr(integrals.Anchors, "over", lambda *parts: pytest.fail("moved in part"))
    np.testing.assert_allclose(mixed.kl(other)[0], 0.5 * np.log(2.0) + 0.5 * np.log(2.0 / 3.0), rtol=1e-9)
