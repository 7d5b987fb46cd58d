"""hidiv fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hidiv as hd
from tests.cli.running import hidiv, refusal


@pytest.fixture
def data(tmp_path: Path) -> str:
    truth = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1, 9]))
    x = hd.sample(truth, 121, seed=1)[1]
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(str(int(each)) for each in x) + "\n")
    return str(path)


def values(data: str) -> np.ndarray:
    return np.loadtxt(data, skiprows=1)


def test_writes_the_model(data: str, tmp_path: Path) -> None:
    out = str(tmp_path / "A.json")
    words = ("fit", "--data", data, "--states", "2", "--emission", "poisson", "--n-init", "2", "--seed", "3", "-o", out)
    told = json.loads(hidiv(*words, "--json").stdout)
    found = hd.fit(values(data), None, 2, "poisson", n_init=2, seed=3)
    assert hd.load(out) == found.model
    assert told["log_likelihood"] == found.log_likelihood
    said = hidiv(*words)
    assert said.returncode == 0
    assert "converged" in said.stdout
    assert said.stderr == ""


def test_trees_lengths_and_starts(data: str, tmp_path: Path) -> None:
    out, tree = str(tmp_path / "A.json"), hd.Tree.regular(3, 5)
    words = ("fit", "--data", data, "--states", "2", "--emission", "poisson", "--n-init", "1", "--seed", "3", "-o", out)
    assert hidiv(*words, "--tree", "regular:3x5", "--level").returncode == 0
    found = hd.fit(values(data), tree, 2, "poisson", n_init=1, seed=3, group="level")
    assert hd.load(out) == found.model
    assert hidiv("fit", "--data", data, "--lengths", "100,21", "--start", out, "-o", out).returncode == 2
    assert hidiv(*words, "--lengths", "100,21", "--end").returncode == 0
    assert hd.load(out).end is not None
    assert hidiv("fit", "--data", data, "--lengths", "100,21", "--start", out, "-o", out).returncode == 0


def test_refused(data: str, tmp_path: Path) -> None:
    out = str(tmp_path / "A.json")
    assert "--states" in refusal("fit", "--data", data, "-o", out)
    assert "known are" in refusal("fit", "--data", data, "--states", "2", "--emission", "normal", "-o", out)
    assert "--lengths" in refusal("fit", "--data", data, "--states", "2", "--lengths", "a", "-o", out)
    assert not Path(out).exists()
