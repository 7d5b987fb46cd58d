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
    path.write_text("# a comment\nyear,count\n" + "".join(f"{1900 + i},{13 + i}\n" for i in range(10)))
    assert np.array_equal(example.read_counts(str(path)), np.arange(13, 23))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("year,count\n1900,many\n", "cannot be read: could not convert string to float: 'many'"),
        ("year,count\n1900,13\n", "has 1 year, 10 are needed"),
        (None, "cannot be read: .*No such file"),
    ],
)
def test_what_it_cannot_read(example, tmp_path, text, said):
    path = tmp_path / "counts.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit, match=said):
        example.read_counts(str(path))
