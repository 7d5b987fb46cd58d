"""hidiv posterior, influence and sample."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import hidiv as hd
from tests.cli.running import CHAINS, TREES, hidiv, refusal


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "x.csv"
    path.write_text("0\n1\n\n2\n2\n")
    return str(path)


X = [0, 1, float("nan"), 2, 2]


def test_posterior(data: str) -> None:
    p, q = (hd.load(path) for path in CHAINS)
    exact = hd.posterior_kl(p, q, X)
    told = json.loads(hidiv("posterior", *CHAINS, "--data", data, "--json").stdout)
    assert told["value"] == exact.value
    assert told["by_node"] == exact.by_node.tolist()
    shown = hidiv("posterior", *CHAINS, "--data", data, "--target", "unobserved")
    assert f"{hd.posterior_kl(p, q, X, target='unobserved').value:.9f}" in shown.stdout
    assert "node 4" in shown.stdout


def test_influence(data: str) -> None:
    told = json.loads(hidiv("influence", CHAINS[0], "--data", data, "--json", "--unit", "bits").stdout)
    assert told["by_node"] == pytest.approx((hd.influence(hd.load(CHAINS[0]), X) / np.log(2)).tolist(), rel=1e-15)
    assert told["by_node"][2] == 0
    assert "node 3" in hidiv("influence", CHAINS[0], "--data", data).stdout


def test_sample_is_read_back_as_data(tmp_path: Path) -> None:
    out = str(tmp_path / "y.csv")
    done = hidiv("sample", TREES[0], "--tree", "regular:2x3", "--seed", "7", "--states", "-o", out)
    assert (done.returncode, done.stdout) == (0, "")
    states, x = hd.sample(hd.load(TREES[0]), hd.Tree.regular(2, 3), seed=7)
    rows = [line.split(",") for line in Path(out).read_text().splitlines()]
    assert rows[0] == ["state", "x"]
    assert [int(row[0]) for row in rows[1:]] == states.tolist()
    assert [float(row[1]) for row in rows[1:]] == x.tolist()
    told = json.loads(hidiv("posterior", *TREES, "--data", out, "--tree", "regular:2x3", "--json").stdout)
    p, q = (hd.load(path) for path in TREES)
    assert told["value"] == hd.posterior_kl(p, q, x, hd.Tree.regular(2, 3)).value


def test_sample_to_standard_output_is_the_same_for_a_seed() -> None:
    first, second = (hidiv("sample", CHAINS[0], "--tree", "chain:5", "--seed", "1").stdout for _ in range(2))
    assert first == second
    assert first.splitlines()[0] == "x"
    assert len(first.splitlines()) == 6


def test_symbols_are_sampled_by_their_names(tmp_path: Path) -> None:
    path, out = str(tmp_path / "weather.json"), str(tmp_path / "x.csv")
    names = ["dry, cold", "x", 'so "wet"']
    family = hd.Categorical([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    model = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], family, symbol_names=names)
    hd.save(model, path)
    x = hd.sample(model, 30, seed=1)[1]
    drawn = [names[int(symbol)] for symbol in x]
    hidiv("sample", path, "--tree", "chain:30", "--seed", "1", "-o", out)
    with open(out, newline="") as file:
        assert list(csv.reader(file)) == [["x_"], *([name] for name in drawn)]
    told = json.loads(hidiv("influence", path, "--data", out, "--json").stdout)
    assert told["by_node"] == hd.influence(model, x).tolist()
    sampled = json.loads(hidiv("sample", path, "--tree", "chain:30", "--seed", "1", "--json").stdout)
    assert sampled["x"] == drawn


@pytest.mark.parametrize("name", ["7", "na", " wet", "a\u2028b"])
def test_names_a_file_would_not_give_back_stay_numbers(tmp_path: Path, name: str) -> None:
    path, out = str(tmp_path / "weather.json"), str(tmp_path / "x.csv")
    model = hd.Model([1.0], [[1.0]], hd.Categorical([[0.5, 0.5]]), symbol_names=["dry", name])
    hd.save(model, path)
    x = hd.sample(model, 20, seed=2)[1]
    hidiv("sample", path, "--tree", "chain:20", "--seed", "2", "-o", out)
    assert [float(line) for line in Path(out).read_text().splitlines()[1:]] == x.tolist()


def test_nothing_shown_is_null(tmp_path: Path) -> None:
    path = str(tmp_path / "silent_root.json")
    hd.save(hd.Model([1.0], [None, [[1.0]]], [hd.Silent(1), hd.Poisson([2.0])]), path)
    sampled = json.loads(hidiv("sample", path, "--tree", "regular:2x2", "--seed", "1", "--json").stdout)
    assert sampled["x"][0] is None
    assert None not in sampled["x"][1:]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("0\n7\n", "x[1]: categorical observations are whole numbers from 0 to 2"),
        ("0\n0.5\n", "x[1]"),
        ("0\nmany\n", "line 2"),
        ("0,1\n1,1\n", "must have 1 column"),
        ("0\n1,2\n", "line 2"),
        ("x\n", "holds no values"),
    ],
)
def test_bad_data_is_one_sentence(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert part in refusal("posterior", *CHAINS, "--data", str(path))
    assert part in refusal("influence", CHAINS[0], "--data", str(path))


def test_wrong_length_is_one_sentence(data: str) -> None:
    assert "must describe the 4 nodes of the tree, got 5" in refusal(
        "posterior", *CHAINS, "--data", data, "--tree", "chain:4"
    )
