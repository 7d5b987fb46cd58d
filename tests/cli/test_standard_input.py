"""'-' stands for standard input wherever one file is read: a model, a tree, data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hidiv as hd
from tests.cli.running import CHAINS, hidiv, refusal

P, Q = (hd.load(path) for path in CHAINS)
X = [0.0, 1.0, 2.0, 2.0]
DATA = "x\n0\n1\n2\n2\n"


def told(*words: str, stdin: str) -> dict:
    done = hidiv(*words, "--json", stdin=stdin)
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def test_data() -> None:
    exact = hd.posterior_kl(P, Q, X).value
    assert told("posterior", *CHAINS, "--data", "-", stdin=DATA)["value"] == exact
    assert told("compare", *CHAINS, "--data", "-", stdin=DATA)["posterior"]["value"] == exact
    assert told("influence", CHAINS[0], "--data", "-", stdin=DATA)["by_node"] == hd.influence(P, X).tolist()


def test_a_tree(tmp_path: Path) -> None:
    tree = hd.Tree([-1, 0, 0, 1])
    hd.save(tree, tmp_path / "tree.json")
    text = (tmp_path / "tree.json").read_text()
    assert told("compare", *CHAINS, "--tree", "-", stdin=text)["joint"]["value"] == hd.joint_kl(P, Q, tree).value
    assert len(told("sample", CHAINS[0], "--tree", "-", stdin=text)["x"]) == 4


@pytest.mark.parametrize("which", [0, 1])
def test_either_model(which: int) -> None:
    names = [*CHAINS]
    names[which] = "-"
    found = told("compare", *names, "--tree", "chain:3", stdin=Path(CHAINS[which]).read_text())
    assert found["joint"]["value"] == hd.joint_kl(P, Q, 3).value


def test_it_is_read_once() -> None:
    text = Path(CHAINS[0]).read_text()
    said = refusal("compare", "-", "-", "--tree", "chain:3", stdin=text)
    assert said.startswith("the model: standard input was read already, for the model, got -")
    said = refusal("posterior", "-", CHAINS[1], "--data", "-", stdin=text)
    assert said.startswith("the data: standard input was read already, for the model")


def test_what_is_wrong_with_it_is_said_of_standard_input() -> None:
    assert refusal("compare", "-", CHAINS[1], "--tree", "chain:3", stdin="{}").startswith("standard input: ")
    assert refusal("posterior", *CHAINS, "--data", "-", stdin="0\nmany\n").startswith(
        "standard input, column 1, line 2"
    )


def test_one_command_feeds_the_next() -> None:
    drawn = hidiv("sample", CHAINS[0], "--tree", "chain:5", "--seed", "3").stdout
    found = told("posterior", *CHAINS, "--data", "-", stdin=drawn)
    assert found["value"] == hd.posterior_kl(P, Q, hd.sample(P, 5, seed=3)[1]).value


def test_many_models() -> None:
    text, words = Path(CHAINS[0]).read_text(), ("--tree", "chain:3")
    found = told("pairwise", "-", CHAINS[1], *words, stdin=text)
    assert found["matrix"][0][1] == pytest.approx(hd.joint_kl(P, Q, 3).value, rel=1e-11)
    assert told("nearest", "-", *CHAINS, *words, "-k", "1", stdin=text)["nearest"][0]["index"] == 0
    assert len(told("cluster", "-", "--clusters", "2", stdin=",a,b\na,0,1\nb,1,0\n")["clusters"]) == 2
