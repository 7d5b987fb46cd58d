"""hidiv fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
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


def written(path: str) -> hd.Model:
    """The model in a file, without the heading of its column."""
    described = hd.load(path).to_dict()
    assert described.pop("column_names") == ["x"]
    return hd.Model.from_dict(described)


def values(data: str) -> np.ndarray:
    return np.loadtxt(data, skiprows=1)


def test_writes_the_model(data: str, tmp_path: Path) -> None:
    out = str(tmp_path / "A.json")
    words = ("fit", "--data", data, "--states", "2", "--emission", "poisson", "--n-init", "2", "--seed", "3", "-o", out)
    told = json.loads(hidiv(*words, "--json").stdout)
    found = hd.fit(values(data), None, 2, "poisson", n_init=2, seed=3)
    assert written(out) == found.model
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
    assert written(out) == found.model
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


def table(tmp_path: Path, text: str) -> tuple[str, ...]:
    path = tmp_path / "table.csv"
    path.write_text(text)
    return ("fit", "--data", str(path), "--n-init", "1", "--seed", "0", "-o", str(tmp_path / "A.json"))


def test_says_which_columns_it_used(tmp_path: Path) -> None:
    """The index that pandas writes and the states of `hidiv sample` are no observations."""
    frame = pd.DataFrame({"height": [1.5, 2.5, 9.5, 8.5], "state": [0, 0, 1, 1], "width": [1.0, 2.0, 1.0, 2.0]})
    words = table(tmp_path, frame.to_csv())
    said = hidiv(*words, "--states", "1")
    assert " ".join(said.stdout.split()).startswith(
        "columns: height, width; left out: the first one, without a name (an index of the rows); "
        "left out: state (no observation) "
    )
    assert hd.load(words[-1]).n_features == 2
    dated = frame.set_axis(["mon", "tue", "wed", "thu"])
    assert hidiv(*table(tmp_path, dated.to_csv()), "--states", "1").stdout == said.stdout
    chosen = pd.concat([frame, frame], ignore_index=True).iloc[[0, 2, 4, 5, 7]]  # rows of a longer table
    assert hidiv(*table(tmp_path, chosen.to_csv()), "--states", "1").stdout.startswith("columns: height, width; left")
    told = json.loads(hidiv(*table(tmp_path, frame.to_csv(index=False)), "--states", "1", "--json").stdout)
    assert told["columns"] == ["height", "width"]
    kept = hidiv(*table(tmp_path, ",x\n5,1\n7,2\n2,2\n"), "--states", "1")
    assert kept.stdout.startswith("columns: column 1, x\n")  # not in order, so it may be anything


def test_text_is_symbols_with_names(tmp_path: Path) -> None:
    words = table(tmp_path, "base\n" + "\n".join("GATTACA") + "\n\nNA\n")
    said = hidiv(*words, "--states", "2", "--emission", "categorical")
    assert said.returncode == 0, said.stderr
    assert hd.load(words[-1]).symbol_names == (("A", "C", "G", "T"),)
    assert hidiv("influence", words[-1], "--data", words[2]).returncode == 0
    assert hidiv("posterior", words[-1], words[-1], "--data", words[2]).returncode == 0
    bare = table(tmp_path, "\n".join("GATTACAG") + "\n")  # G comes again, so that it is no heading
    assert hidiv(*bare, "--states", "1", "--emission", "categorical").stdout.startswith("columns: column 1\n")
    assert hd.load(bare[-1]).emission.probs.tolist() == [[3 / 8, 1 / 8, 2 / 8, 2 / 8]]


def test_columns_that_are_refused_are_named(tmp_path: Path) -> None:
    words = table(tmp_path, "base,x\nG,1\nA,2\n")
    assert "column 'base': holds text (A, G) and gaussian takes numbers" in refusal(*words, "--states", "1")
    words = table(tmp_path, "x,y\n1,1\n2,1\n3o,2\n")
    assert "column 'x', line 4: values are numbers" in refusal(*words, "--states", "1")
