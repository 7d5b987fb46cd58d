"""`hidiv differ` and `hidiv fit --by`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hidiv as hd
from tests.cli.running import hidiv

OLD = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], hd.Poisson([1.0, 6.0]))
NEW = hd.Model([0.5, 0.5], [[0.9, 0.1], [0.4, 0.6]], hd.Poisson([1.0, 9.0]))
QUICK = ["--emission", "poisson", "--states", "2", "--n-init", "1", "--seed", "1", "--permutations", "199"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    both = ["group,id,count"]
    for name, model, seed in (("old", OLD, 1), ("new", NEW, 2)):
        lines = ["id,count"]
        for i, x in enumerate(hd.sample(model, 30, size=8, seed=seed)[1]):
            lines += [f"{i},{int(value)}" for value in x]
            both += [f"{name},{i},{int(value)}" for value in x]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    (tmp_path / "both.csv").write_text("\n".join(both))
    return tmp_path


def test_two_files(folder: Path) -> None:
    done = hidiv("differ", str(folder / "old.csv"), str(folder / "new.csv"), "--sequence", "id", *QUICK,
                 "--plot", str(folder / "d.png"), "-o", str(folder / "d.json"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("groups old and new differ (p = 0.0")
    assert (folder / "d.png").stat().st_size > 1000
    assert hd.load(folder / "d.json").summary().split() == done.stdout.split()
    one = hidiv("differ", str(folder / "both.csv"), "--group", "group", "--sequence", "id", *QUICK, "--json")
    assert json.loads(one.stdout) == json.loads((folder / "d.json").read_text())


def test_bad_input(folder: Path) -> None:
    for arguments, said in (
        (["old.csv", "new.csv"], "tell sequences apart with --sequence COLUMN, or cut long ones with --block STEPS"),
        (["old.csv"], "hidiv: groups: at least two are needed to tell whether they differ, got 1"),
        (["old.csv", "new.csv", "--states", "two"], "hidiv: --states two: must be a whole number from 1"),
        (["old.csv", "new.csv", "--sequence", "who"], "old.csv: has no column 'who'; columns are id, count"),
    ):
        there = [str(folder / word) if word.endswith(".csv") else word for word in arguments]
        done = hidiv("differ", *there)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1


def test_fit_by_a_column(folder: Path) -> None:
    out = folder / "m.npz"
    done = hidiv("fit", "--data", str(folder / "old.csv"), "--by", "id", "--states", "1", "--emission", "poisson",
                 "--n-init", "1", "--seed", "1", "--store", str(folder / "fits"), "-o", str(out))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"8 models -> {out}\n")
    assert hd.load(out).names == tuple("01234567")
    assert len(list((folder / "fits").iterdir())) == 8
    wrong = hidiv("fit", "--data", str(folder / "old.csv"), "--by", "id", "--states", "1", "-o", str(folder / "m.json"))
    assert wrong.stderr.endswith("many models are written as NPZ; name the file .npz\n")
