"""Every command's --json is what docs/json.md says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hidiv as hd
from hidiv.cli.main import COMMANDS
from tests.cli.running import CHAINS, TREES, hidiv
from tests.cli.schema import check, formats

# Command -> format, and calls that between them show every key; {x} is a file of data, {one} a one-state model.
CALLS: dict[str, tuple[str, list[list[str]]]] = {
    "compare": (
        "hidiv.comparison",
        [
            ["compare", *CHAINS, "--data", "{x}", "--montecarlo", "20"],
            ["compare", *TREES, "--tree", "regular:2x3"],
            ["compare", CHAINS[0], "{one}", "--tree", "chain:3"],
            ["compare", CHAINS[0], "{narrow}", "--tree", "chain:3", "--unit", "bits"],
        ],
    ),
    "posterior": (
        "hidiv.posterior",
        [["posterior", *CHAINS, "--data", "{x}"], ["posterior", *CHAINS, "--data", "{x}", "--montecarlo", "20"]],
    ),
    "influence": ("hidiv.influence", [["influence", CHAINS[0], "--data", "{x}"]]),
    "sample": ("hidiv.sample", [["sample", CHAINS[0], "--tree", "chain:3"]]),
    "pairwise": (
        "hidiv.pairwise",
        [["pairwise", *CHAINS, "--tree", "chain:3", "--quantity", "observed", "--samples", "20"]],
    ),
    "nearest": ("hidiv.nearest", [["nearest", CHAINS[0], *CHAINS, "--tree", "chain:3", "-k", "2", "--index", "faiss"]]),
    "cluster": ("hidiv.clusters", [["cluster", "{matrix}", "--clusters", "2"]]),
    "fit": ("hidiv.fit", [["fit", "--data", "{x}", "--states", "1", "--emission", "poisson", "-o", "{fitted}"]]),
    "differ": (
        "hidiv.difference",
        [["differ", "{x}", "{x2}", "--states", "1", "--emission", "poisson", "--block", "2", "--permutations", "9"]],
    ),
    "reduce": ("hidiv.reduction", [["reduce", "{three}", "--within", "0.01", "--nodes", "200", "--seed", "1"]]),
    "demo": ("hidiv.demo", [["demo"]]),
    "paper": ("hidiv.paper", [["paper", "--out", "{folder}", "--trials", "100"]]),
    "report": (
        "hidiv.report",
        [
            ["report", *CHAINS, "--data", "{x}", "-o", "{page}"],
            ["report", CHAINS[0], "{turned}", "--tree", "chain:9", "-o", "{page}"],
        ],
    ),
}  # fmt: skip


def test_every_command_is_here() -> None:
    assert set(CALLS) == set(COMMANDS)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "x.csv").write_text("0\n1\n\n2\n")
    (tmp_path / "x2.csv").write_text("0\n3\n4\n2\n")
    third = hd.Categorical([[0.5, 0.5, 0.0]])
    hd.save(hd.Model([1.0], [[1.0]], third), tmp_path / "one.json")
    narrow = hd.Categorical([[0.5, 0.5, 0.0], [0.2, 0.1, 0.7]])
    hd.save(hd.Model([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], narrow), tmp_path / "narrow.json")
    three = hd.Model([0.2, 0.3, 0.5], [[0.2, 0.3, 0.5]] * 3, hd.Poisson([1.0, 2.0, 2.0]), state_names=["a", "b", "c"])
    hd.save(three, tmp_path / "three.json")
    hd.save(hd.load(CHAINS[1]).relabel([1, 0]), tmp_path / "turned.json")
    (tmp_path / "d.csv").write_text(",a,b,c\na,0,1,2\nb,1,0,2\nc,2,2,0\n")
    named = {
        "x": "x.csv",
        "x2": "x2.csv",
        "matrix": "d.csv",
        "fitted": "fitted.json",
        "one": "one.json",
        "three": "three.json",
        "narrow": "narrow.json",
        "turned": "turned.json",
        "folder": "paper",
        "page": "page.html",
    }
    return {name: str(tmp_path / file) for name, file in named.items()}


@pytest.mark.parametrize("command", CALLS)
def test_json_is_as_documented(command: str, files: dict[str, str]) -> None:
    form, calls = CALLS[command]
    seen: set[str] = set()
    for words in calls:
        done = hidiv(*(word.format(**files) for word in words), "--json")
        assert (done.returncode, done.stderr) == (0, ""), done
        told = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        check(told, form)
        seen |= {key for key, value in told.items() if value is not None}
    assert seen >= set(formats()[form]) - {"std_error", "n_samples", "error", "certificate", "parts", "per"}


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"joint": None, "observed": None}, "hidiv.rates"),
        ({"joint": None, "observed": None, "expected_posterior": None, "more": 1}, "hidiv.rates"),
        ({"joint": 1.0, "observed": None, "expected_posterior": None}, "hidiv.rates"),
        ([1, "two"], "list of number"),
        (True, "whole number"),
        (None, "text"),
        ("nan", "number"),
    ],
)
def test_the_schema_can_fail(told: object, kind: str) -> None:
    with pytest.raises(AssertionError):
        check(told, kind)
