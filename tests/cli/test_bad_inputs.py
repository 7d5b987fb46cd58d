"""Whatever is wrong with files, names and numbers: one sentence, exit code 2, no traceback."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import hidiv as hd
from hidiv.cli.main import main
from tests.cli.running import CHAINS, hidiv, refusal

P, Q = CHAINS
# Calls that read the file {f} as a model, a matrix or a tree.
MODEL = [
    f"compare {{f}} {Q} --tree chain:3", f"compare {P} {{f}} --tree chain:3", f"posterior {{f}} {Q} --data x.csv",
    "influence {f} --data x.csv", f"pairwise {P} {{f}} --tree chain:3", f"nearest {{f}} {P} --tree chain:3",
    f"nearest {P} {{f}} --tree chain:3", "cluster {f}", "sample {f} --tree chain:3",
    f"report {P} {{f}} --tree chain:3 -o o.html", "fit --data x.csv --start {f} -o o.json",
    f"compare {P} {Q} --tree {{f}}",
]  # fmt: skip
DATA = [
    f"compare {P} {Q} --data {{f}}", f"posterior {P} {Q} --data {{f}}", f"influence {P} --data {{f}}",
    f"report {P} {Q} --data {{f}} -o o.html", f"pairwise {P} {Q} --quantity posterior --data {{f}}",
    "fit --data {f} --states 2 --emission categorical -o o.json",
]  # fmt: skip
TREE = [
    f"compare {P} {Q} --tree {{f}}", f"pairwise {P} {Q} --tree {{f}}", f"nearest {P} {Q} --tree {{f}}",
    f"sample {P} --tree {{f}}", f"report {P} {Q} --tree {{f}} -o o.html",
    f"posterior {P} {Q} --data x.csv --tree {{f}}", f"influence {P} --data x.csv --tree {{f}}",
    "fit --data x.csv --states 1 --tree {f} -o o.json",
]  # fmt: skip
TARGET = [
    f"pairwise {P} {Q} --tree chain:3 --out {{f}}", f"pairwise {P} {Q} --tree chain:3 --plot {{f}}",
    f"nearest {P} {Q} --tree chain:3 --out {{f}}", "cluster d.csv --out {f}", "cluster d.csv --plot {f}",
    "fit --data x.csv --states 1 -o {f}", f"sample {P} --tree chain:3 -o {{f}}",
    f"report {P} {Q} --tree chain:3 -o {{f}}",
]  # fmt: skip
BAD_FILES = {
    "missing": None, "garbage": bytes(range(128, 256)) * 9, "latin": b'{"name": "\xe9"}', "cut": b'{"a": 1',
    "list": b"[1]", "empty": b"", "null": b"null", "deep": b"[" * 99999, "zip": b"PK\x03\x04" + bytes(99),
    "nan": b'{"initial": [NaN]}',
}  # fmt: skip
BAD_DATA = {
    "missing": None, "garbage": bytes(range(128, 256)) * 9, "latin": b"\xe9,1\n", "empty": b"", "negative": b"-1\n0\n",
    "infinite": b"inf\n0\n", "words": b"a\nb\n1\n", "ragged": b"0,1\n2\n", "half": b"0.5\n", "huge": b"1e400\n",
    "nul": b"0\n\0\n",
}  # fmt: skip
BAD_TREES = (
    "chain: chain:0 chain:-3 chain:x chain:1e3 regular:2 regular:0x3 regular:2x0 regular:2x regular:2x3x4 star:5 : "
    f"chain:{'9' * 31} d.csv {P}"
).split()


def told(line: str) -> str:
    """What the command says on stderr, run here; anything but a sentence and exit code 2 fails."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["hidiv", *line.split(" ")]
    try:
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.argv = before
    assert (stopped.value.code, out.getvalue()) == (2, ""), line
    said = err.getvalue()
    assert said.startswith("hidiv: "), line
    assert said.count("\n") == 1, line
    return said


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("0\n1\n2\n")
    (tmp_path / "d.csv").write_text(",a,b\na,0,1\nb,1,0\n")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize("kind", BAD_FILES)
def test_models_matrices_and_trees(kind: str, place: Path) -> None:
    if BAD_FILES[kind] is not None:
        (place / "bad.json").write_bytes(BAD_FILES[kind])
    for line in MODEL:
        assert "bad.json" in told(line.format(f="bad.json"))
    assert not (place / "o.html").exists()


@pytest.mark.parametrize("kind", BAD_DATA)
def test_data(kind: str, place: Path) -> None:
    if BAD_DATA[kind] is not None:
        (place / "bad.csv").write_bytes(BAD_DATA[kind])
    for line in DATA:
        told(line.format(f="bad.csv"))
    told("cluster bad.csv")


def test_a_directory(place: Path) -> None:
    for line in (*MODEL, *DATA):
        said = told(line.format(f="folder"))
        assert "directory" in said or "a folder with a model has transition.csv" in said


@pytest.mark.parametrize("form", BAD_TREES)
def test_trees(form: str) -> None:
    for line in TREE:
        told(line.format(f=form))


def test_a_tree_of_more_nodes_than_can_be_written() -> None:
    for line in TREE[3:4] + TREE[5:]:
        told(line.format(f="regular:2x100000"))


@pytest.mark.parametrize("target", ["no/such/o.png", "folder", "/dev/null/o.png"])
def test_targets(target: str, place: Path) -> None:
    for line in TARGET:
        told(line.format(f=target))
    assert {path.name for path in place.iterdir()} == {"x.csv", "d.csv", "folder"}


def test_a_target_is_refused_before_anything_is_read() -> None:
    assert "no such folder" in told("pairwise missing.npz --tree chain:3 --out no/d.csv")
    assert "no such folder" in told("fit --data missing.csv --states 2 -o no/a.json")
    assert "no such folder" in told("report missing.json missing.json --tree chain:3 -o no/r.html")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (f"compare {P} {Q} --tree chain:3 --fail-above nan", "must be a number to compare with"),
        (f"compare {P} {Q} --tree chain:3 --montecarlo -1", "not in the range"),
        (f"sample {P} --tree chain:3 --seed -1", "not in the range"),
        ("fit --data x.csv --states 1 --seed -1 -o o.json", "not in the range"),
        (f"sample {P} --tree chain:1000000000000", "more memory than there is"),
        (f"pairwise {P} {Q} --tree chain:3 --plot d.xyz", "must end with .png, .svg or .pdf"),
        (f"nearest {P} {Q} --tree chain:3 -k 0", "not in the range"),
        ("cluster d.csv --clusters 3", "from 1 to the 2 models"),
        ("fit --data x.csv --states 1 --emission nope -o o.json", "nope"),
        ("fit --data x.csv --states 1 --lengths 1,1 -o o.json", "lengths"),
    ],
)
def test_numbers_and_words(line: str, words: str) -> None:
    assert words in told(line)


def test_standard_input_that_is_no_text() -> None:
    command = [str(Path(sys.executable).with_name("hidiv")), "influence", P, "--data", "-"]
    done = subprocess.run(command, input=b"0\n\xff\n", capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"hidiv: standard input: must be UTF-8 text, byte 3 is not\n"


def test_half_a_character_in_a_name_is_shown_somehow(place: Path) -> None:
    (place / "half.json").write_text(json.dumps(hd.load(P).to_dict() | {"name": "\ud800x"}))
    done = hidiv("compare", "half.json", Q, "--tree", "chain:3")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\ud800x" in done.stdout
    assert hidiv("report", "half.json", Q, "--tree", "chain:3", "-o", "half.html").returncode == 0
    assert "?x against theta_0" in (place / "half.html").read_text(encoding="utf-8")


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{Path(sys.executable).with_name('hidiv')} sample {P} --tree chain:200000 | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("x\n", "")


def test_a_full_disk() -> None:
    with Path("/dev/full").open("w") as full:
        command = [str(Path(sys.executable).with_name("hidiv")), "sample", P, "--tree", "chain:3"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_installed_command_says_the_same(place: Path) -> None:
    assert refusal("compare", "missing.json", Q, "--tree", "chain:3").startswith("missing.json: cannot be read")
    assert np.isfinite(float(hidiv("sample", P, "--tree", "chain:1").stdout.split()[-1]))
