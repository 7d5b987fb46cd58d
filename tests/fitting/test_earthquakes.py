"""The example runs, on the series it draws and on one from a file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "earthquakes.py"


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("earthquakes", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_runs(example, capsys):
    example.main(starts=1, replicates=3)
    said = capsys.readouterr().out
    assert said.startswith("107 years")
    assert "chosen by bic:\n  3 states" in said
    assert "p-value" in said


def test_reads_the_last_column(example, tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("# a comment\nyear,count\n1900,13\n1901,14\n")
    assert np.array_equal(example.read_counts(str(path)), [13, 14])
