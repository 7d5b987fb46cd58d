"""hidiv compare --measure and hidiv pairwise --measure, run as a user would."""

from __future__ import annotations

import json

import numpy as np

import hidiv as hd
from tests.cli.running import CHAINS, hidiv, refusal


def test_one_measure_of_two_models():
    p, q = (hd.load(path) for path in CHAINS)
    done = hidiv("compare", *CHAINS, "--tree", "chain:10", "--measure", "bayes_error")
    assert done.returncode == 0, done.stderr
    expected = hd.bayes_error(p, q, 10)
    assert done.stdout.split() == " ".join([repr(expected), *expected.notes]).split()
    done = hidiv("compare", *CHAINS, "--measure", "sahraeian_yoon", "--json", "--fail-above", "0.01")
    assert done.returncode == 1
    assert hd.Measure.from_dict(json.loads(done.stdout)).value == hd.sahraeian_yoon(p, q).value
    assert "--measure" in refusal("compare", *CHAINS, "--tree", "chain:10", "--measure", "joint", "--montecarlo", "9")


def test_a_matrix_of_a_measure(tmp_path):
    out = str(tmp_path / "k.npz")
    done = hidiv("pairwise", *CHAINS, "--tree", "chain:10", "--measure", "product_kernel", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 models, product kernels, exact\n")
    expected = hd.pairwise([hd.load(path) for path in CHAINS], 10, measure="product_kernel")
    found = hd.load(out)
    np.testing.assert_array_equal(found, expected)
    assert found.quantity == "product_kernel"


def test_bits_and_tolerances(tmp_path):
    models = [hd.load(path) for path in CHAINS]
    asked = ("--tree", "chain:10", "--measure", "jensen_shannon", "--unit", "bits", "--json")
    found = hd.Measure.from_dict(json.loads(hidiv("compare", *CHAINS, *asked).stdout))
    expected = hd.jensen_shannon(*models, 10)
    np.testing.assert_allclose([found.value, found.upper], expected.value / np.log(2.0), rtol=1e-12)
    assert found.unit == "bits"
    assert found == expected.to("bits")
    table = json.loads(hidiv("pairwise", *CHAINS, *asked).stdout)
    assert table["unit"] == "bits"
    np.testing.assert_allclose(table["matrix"][0][1], found.value, rtol=1e-12)
    done = hidiv("pairwise", *CHAINS, "--tree", "chain:30", "--measure", "hellinger", "--rtol", "0.2", "--unit", "bits")
    assert done.returncode == 0, done.stderr
    assert "at most 0.2 of the value" in " ".join(done.stdout.split())
    assert "bits" not in done.stdout
