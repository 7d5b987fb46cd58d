"""The examples run on made-up data and say what is true of it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture(scope="module")
def lineages() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / "lineages.py"))


def test_patches_are_found_by_trees_alone(capsys: pytest.CaptureFixture[str]) -> None:
    found = runpy.run_path(str(EXAMPLES / "wavelets.py"))["main"](tiles=3)
    assert found["hidden Markov trees"] > found["independent coefficients"]
    assert found["hidden Markov trees"] > 0.9
    assert "hidden Markov trees" in capsys.readouterr().out


def test_treatments_that_differ_are_further_apart(lineages: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    rows = lineages["simulated_rows"](lineages=12, film=2400)
    found = lineages["main"](rows, permutations=199, starts=1)
    assert [pair.adjusted <= 0.05 for pair in found.pairs] == [False, True, True]
    assert "A and B: p = " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "has no rows with experiment, cell, mother, treatment, first_minute, last_minute"),
        (
            "experiment,cell,mother,treatment,first_minute,last_minute\nx,1,0,A,0,?\n",
            "line 2: last_minute must be",
        ),
    ],
)
def test_rows_that_are_none(lineages: dict[str, Any], tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "cells.csv").write_text(text)
    with pytest.raises(SystemExit, match=said):
        lineages["read_rows"](str(tmp_path / "cells.csv"))


def test_lifetimes_are_exact_or_longer(lineages: dict[str, Any]) -> None:
    cells = [("1", "0", "0", "570"), ("2", "1", "600", "1170"), ("3", "1", "600", "2880"), ("4", "2", "1200", "2880")]
    keys = ("cell", "mother", "first_minute", "last_minute")
    rows = [dict(zip(keys, cell, strict=True)) | {"experiment": "x", "treatment": "t"} for cell in cells]
    ((lineage,),) = lineages["read_lineages"](rows).values()
    assert lineage.tree.parent.tolist() == [-1, 0, 0, 1]
    assert lineage.tree.group.tolist() == [0, 1, 1, 1]
    np.testing.assert_array_equal(lineage.evidence.x[:, 0], [10.0, 10.0, np.nan, np.nan])
    np.testing.assert_array_equal(lineage.evidence.lower[2:, 0], [38.5, 28.5])
    assert lineage.complete == 1
