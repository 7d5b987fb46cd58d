"""Model files of ChromHMM: what they say is what is read, through hd.load and the command line; all else is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hidiv as hd
from hidiv.errors import HidivError, InvalidFile
from hidiv.files.formats import model_from_text
from tests.cli.running import hidiv
from tests.refusals import found_or_refused

MARKS = ("H3K4me1", "CTCF")
INITIAL = [3.4e-115, 1.0]
TRANSITION = [[0.75, 0.25], [0.0, 1.0]]
PROBS = [[0.125, 0.5], [0.875, 0.0]]


def written(initial=INITIAL, transition=TRANSITION, probs=PROBS, marks=MARKS) -> str:
    lines = [f"{len(initial)}\t{len(marks)}\tE\t-8877156.58\t90"]
    lines += [f"probinit\t{i + 1}\t{p!r}" for i, p in enumerate(initial)]
    lines += [
        f"transitionprobs\t{i + 1}\t{j + 1}\t{p!r}" for i, row in enumerate(transition) for j, p in enumerate(row)
    ]
    lines += [
        f"emissionprobs\t{i + 1}\t{m}\t{marks[m]}\t{v}\t{(p if v else 1 - p)!r}"
        for i, row in enumerate(probs)
        for m, p in enumerate(row)
        for v in (0, 1)
    ]
    return "\n".join(lines) + "\n"


def test_what_a_file_says_is_read(tmp_path):
    (tmp_path / "model_2.txt").write_text(written())
    model = hd.load(tmp_path / "model_2.txt")
    assert model == hd.Model(INITIAL, TRANSITION, hd.Bernoulli(PROBS), column_names=MARKS)
    assert model.column_names == MARKS
    assert hd.as_model(model, name="liver").column_names == MARKS


def test_marks_are_chosen_by_name(tmp_path):
    (tmp_path / "model_2.txt").write_text(written())
    assert hd.load(tmp_path / "model_2.txt").select("CTCF").emission == hd.Bernoulli([[0.5], [0.0]])


def test_the_command_line_takes_it(tmp_path):
    (tmp_path / "a.txt").write_text(written())
    (tmp_path / "b.txt").write_text(written(transition=[[0.5, 0.5], [0.25, 0.75]]))
    result = hidiv("compare", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"), "--tree", "chain:5")
    assert result.returncode == 0, result.stderr
    assert "joint" in result.stdout


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("probinit\t2\t1.0", "probinit\t2\ttwo", "line 3: a probability is a number from 0 to 1, got two"),
        ("probinit\t2\t1.0", "probinit\t3\t1.0", "line 3: a state is a number from 1 to 2, got 3"),
        ("probinit\t2\t1.0", "probinit\t1\t1.0", "line 3: gives a probability a second time, got 1.0"),
        ("probinit\t2\t1.0\n", "", "probinit of state 2 is not complete"),
        ("probinit\t2\t1.0", "probinit\t2\t0.5", "probinit: probabilities must sum to 1 within 1e-05, got 0.5"),
        ("CTCF\t1\t0.5", "CTCF\t1\t0.75", "emissionprobs of state 1 and mark CTCF must sum to one, got 1.25"),
        ("2\t0\tH3K4me1\t0", "2\t0\tH3K4me2\t0", "mark 0 was called H3K4me1 before, got H3K4me2"),
        ("2\t2\tE", "2000\t2000000\tE", "tables of 1 to 10000000 entries are read"),
        ("transitionprobs\t1\t1\t0.75", "transitions\t1\t1\t0.75", "begins with probinit, transitionprobs or"),
        ("transitionprobs\t1\t1\t0.75", "transitionprobs\t1\t0.75", "transitionprobs has 4 fields between tabs, got 3"),
    ],
)  # fmt: skip
def test_bad_files_are_refused_in_one_sentence(before, after, message):
    text = written()
    assert before in text
    with pytest.raises(HidivError) as refused:
        model_from_text(text.replace(before, after, 1), "model_2.txt")
    assert str(refused.value).startswith("model_2.txt")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_marks_of_one_name_are_read_without_names():
    assert model_from_text(written(marks=("CTCF", "CTCF")), "m").column_names is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_changed_files_are_read_or_refused(data):
    text = list(written())
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(text) - 1))
        text[i] = data.draw(st.sampled_from(["", "\t", "\n", "0", "-", "e", "nan", "9" * 400, "é", text[i] * 2]))
    found_or_refused(lambda: model_from_text("".join(text), "m"))


def test_laws_off_by_rounding_are_rescaled():
    model = model_from_text(written(transition=[[0.7500001, 0.25], [0.0, 1.0]]), "m")
    np.testing.assert_allclose(model.transition.sum(axis=1), 1.0, rtol=1e-15)
    with pytest.raises(InvalidFile):
        model_from_text(written() + "x\ty\n", "m")
