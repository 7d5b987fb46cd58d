from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import pywt

from hidiv.errors import InvalidEvidence, MissingExtra
from hidiv.wavelets import Bands, discrete, dual_tree


def energy(bands: Bands) -> float:
    return float(sum((np.abs(part) ** 2).sum() for part in (*bands.details, bands.approximation)))


@pytest.mark.parametrize("shape", [(64,), (32, 48)])
def test_energy_is_kept_or_doubled(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).normal(size=shape)
    squares = float((values**2).sum())
    assert energy(discrete(values, "db3", 3, boundary="periodic")) == pytest.approx(squares, rel=1e-10)
    assert energy(dual_tree(values, 3, boundary="periodic")) == pytest.approx(2 * squares, rel=1e-9)


def test_discrete_is_pywavelets() -> None:
    image = np.random.default_rng(2).normal(size=(32, 64))
    ours = discrete(image, "db2", 3, boundary="periodic")
    rest, *details = pywt.wavedec2(image, "db2", mode="periodization", level=3)
    np.testing.assert_array_equal(ours.approximation, rest)
    for mine, theirs in zip(ours.details, details, strict=True):
        np.testing.assert_array_equal(mine, np.stack(theirs))
    assert ours.orientations == ("horizontal", "vertical", "diagonal")
    assert not ours.is_complex


def test_reflection_sees_no_edge() -> None:
    ramp = np.arange(64.0)
    assert np.abs(discrete(ramp, "db1", 2, boundary="periodic").details[-1]).max() == pytest.approx(np.sqrt(0.5))
    longer = discrete(ramp, "db2", 2, boundary="periodic").details[-1]
    mirrored = discrete(ramp, "db2", 2).details[-1]
    assert np.abs(longer).max() > 20 * np.abs(mirrored).max()


def test_moduli_hardly_change_when_a_signal_is_shifted() -> None:
    step = np.zeros(256)
    step[100:150] = 1.0

    def change(transform: Any) -> float:
        energies = np.array(
            [[(np.abs(band) ** 2).sum() for band in transform(np.roll(step, k)).details[:-1]] for k in range(8)]
        )
        return float((energies.std(axis=0) / energies.mean(axis=0)).max())

    complex_change = change(lambda x: dual_tree(x, 4, boundary="periodic"))
    real_change = change(lambda x: discrete(x, "db4", 4, boundary="periodic"))
    assert complex_change < 0.06
    assert real_change > 4 * complex_change


def test_a_wave_is_seen_by_one_of_two_slants() -> None:
    down, across = np.meshgrid(np.arange(64), np.arange(64), indexing="ij")
    strongest = []
    for sign in (1, -1):
        wave = np.cos(2 * np.pi * 5 * (down + sign * across) / 64)
        slants = (np.abs(dual_tree(wave, 3, boundary="periodic").details[0][4:]) ** 2).sum(axis=(1, 2))
        assert slants.max() > 100 * slants.min()
        strongest.append(int(slants.argmax()))
    assert sorted(strongest) == [0, 1]


def test_local_means_are_block_averages() -> None:
    image = np.random.default_rng(3).normal(size=(16, 32))
    bands = dual_tree(image, 2)
    assert [part.shape for part in bands.means] == [(4, 8), (8, 16)]
    assert bands.means[0][1, 2] == pytest.approx(image[4:8, 8:12].mean(), rel=1e-12)


def test_sizes_and_words() -> None:
    assert repr(dual_tree(np.arange(64.0) ** 2, 3)) == "Bands: 3 scales, 8 to 32 complex coefficients, 1 orientation"
    bands = dual_tree(np.eye(32), 2)
    assert [band.shape for band in bands.details] == [(6, 8, 8), (6, 16, 16)]
    assert bands.is_image


@pytest.mark.parametrize(
    ("values", "levels", "boundary", "words"),
    [
        (np.ones((10, 16)), 2, "reflect", "multiples of 4"),
        (np.ones((16, 16)), 0, "reflect", "levels: must be a whole number from 1, got 0"),
        (np.ones((16, 16)), True, "reflect", "levels"),
        (np.ones((16, 16)), 2, "zero", "boundary: is one of reflect and periodic, got zero"),
        (np.full((8, 8), np.nan), 1, "reflect", "finite, got nan"),
        (np.full((8, 8), 1e200), 1, "reflect", r"must be at most 1e\+100 in size, got 1e\+200; standardise"),
        (np.ones((2, 2, 2)), 1, "reflect", "signal or"),
        (np.ones(8) * 1j, 1, "reflect", "real numbers"),
        (np.ones((0, 8)), 1, "reflect", "multiples of 2"),
    ],
)
def test_refused(values: Any, levels: Any, boundary: str, words: str) -> None:
    for transform in (dual_tree, discrete):
        with pytest.raises(InvalidEvidence, match=words):
            transform(values, levels=levels, boundary=boundary)


def test_unknown_wavelets_are_refused() -> None:
    for wavelet in ("no such", "morl"):
        with pytest.raises(InvalidEvidence, match="wavelet: must name a discrete wavelet of PyWavelets"):
            discrete(np.eye(8), wavelet, 1)


def test_without_pywavelets_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pywt", None)
    with pytest.raises(MissingExtra, match=r"hidiv\[wavelets\]"):
        discrete(np.eye(8), "db1", 1)
