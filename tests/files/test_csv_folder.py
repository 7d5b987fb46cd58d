"""Models in folders of CSV files, written as other languages write them."""

from __future__ import annotations

import json

import pytest

import hidiv as hd
from hidiv.errors import HidivError
from tests.cli.running import hidiv, refusal

PI, T = [0.25, 0.75], [[0.9, 0.1], [0.2, 0.8]]
GAUSSIAN = hd.Model(PI, T, hd.Gaussian([0.0, 3.0], std=[1.0, 2.0]))


def folder(tmp_path, **files):
    for name, text in files.items():
        (tmp_path / f"{name.removeprefix('file')}.csv").write_text(text)
    return tmp_path


# What the lines of docs/other_languages.md write.
R = {
    "initial": '"x"\n0.25\n0.75\n',
    "transition": '"V1","V2"\n0.9,0.1\n0.2,0.8\n',
    "gaussian": '"mean","std"\n0,1\n3,2\n',
}
R_WITH_ROW_NAMES = {**R, "transition": '"","V1","V2"\n"1",0.9,0.1\n"2",0.2,0.8\n'}
MATLAB = {"initial": "0.25\n0.75\n", "transition": "0.9,0.1\n0.2,0.8\n", "gaussian": "mean,std\n0,1\n3,2\n"}
JULIA = {**MATLAB, "gaussian": "mean,std\n0.0,1.0\n3.0,2.0\n"}
SPREADSHEET = {
    "initial": "0.25;0.75\r\n",
    "transition": "0.9;0.1\r\n0.2;0.8\r\n",
    "gaussian": "\ufeffmean;std\r\n0;1\r\n3;2\r\n",
}


@pytest.mark.parametrize("files", [R, R_WITH_ROW_NAMES, MATLAB, JULIA, SPREADSHEET])
def test_what_other_languages_write(tmp_path, files):
    assert hd.load(folder(tmp_path, **files)) == GAUSSIAN


def test_several_columns_keep_their_names(tmp_path):
    text = "mean.speed,mean.turn,std.speed,std.turn\n0,1,1,2\n3,4,5,6\n"
    model = hd.load(folder(tmp_path, transition=MATLAB["transition"], gaussian=text))
    assert model.emission == hd.Gaussian([[0, 1], [3, 4]], std=[[1, 2], [5, 6]])
    assert model.column_names == ("speed", "turn")
    assert model.initial.tolist() == pytest.approx([2 / 3, 1 / 3])  # stationary


def test_momentuhmm(tmp_path):
    gamma = '"","shape","rate"\n"resting",4,2\n"moving",1,0.5\n'
    angle = '"","mean","concentration"\n"resting",3,0.5\n"moving",0,2\n'
    moves = '"","resting","moving"\n"resting",0.9,0.1\n"moving",0.2,0.8\n'
    model = hd.load(folder(tmp_path, transition=moves, initial=R["initial"], file1_gamma=gamma, file2_von_mises=angle))
    assert model.emission == hd.Product([hd.Gamma([4.0, 1.0], [2.0, 0.5]), hd.VonMises([3.0, 0.0], [0.5, 2.0])])
    assert model.state_names == ("resting", "moving")


def test_symbols_are_headings(tmp_path):
    table = "state,A,C,G,T\nhigh,0.1,0.4,0.4,0.1\nlow,0.25,0.25,0.25,0.25\n"
    model = hd.load(folder(tmp_path, transition=MATLAB["transition"], categorical=table))
    assert model.symbol_names == (("A", "C", "G", "T"),)
    assert model.state_names == ("high", "low")


def test_json_of_jsonlite_and_matlab(tmp_path):
    described = {"format": "hidiv.model", "version": 1, "initial": PI, "transition": T}
    described["emission"] = {"family": "gaussian", "mean": [[0], [3]], "cov": [[[1]], [[4]]]}
    (tmp_path / "m.json").write_text(json.dumps(described))
    assert (
        hd.joint_kl(hd.load(tmp_path / "m.json"), hd.Model(PI, T, hd.Gaussian([[0.0], [3]], var=[[1.0], [4]])), 9) == 0
    )


def test_commands_take_folders(tmp_path):
    (tmp_path / "a").mkdir()
    hd.save(GAUSSIAN, tmp_path / "b.json")
    shown = hidiv("compare", str(folder(tmp_path / "a", **R)), str(tmp_path / "b.json"), "--tree", "chain:9", "--json")
    assert json.loads(shown.stdout)["joint"]["value"] == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"transition": None}, "a folder with a model has transition.csv, got gaussian.csv, initial.csv"),
        ({"gaussian": None}, "needs a file named after a family, such as gaussian.csv"),
        ({"gaussian": "0,1\n3,2\n"}, "gaussian.csv, line 1: needs headings"),
        ({"gaussian": "mean,std\n0,1\n"}, "gaussian.csv: needs 2 lines below the headings, got 1"),
        ({"gaussian": "mean,width\n0,1\n3,2\n"}, "gaussian.csv, line 1: has not the parameters of gaussian"),
        ({"gaussian": "mean,std\n0,1\n3,-2\n"}, "gaussian.csv: std"),
        ({"gaussian": "mean,std\n0,1\n3,two\n"}, "gaussian.csv, line 3: holds numbers, got two"),
        ({"gaussian": "mean_a,mean_b,std_a\n0,1,1\n3,2,1\n"}, "every parameter needs the same columns"),
        ({"gaussian": None, "normal": "mean,std\n0,1\n3,2\n"}, "normal.csv: must be named after a family"),
        ({"initial": "1\n"}, "initial.csv: needs 2 numbers, one a state, got 1"),
        ({"transition": "0.9,0.1\n0.2\n"}, "transition.csv, line 2: all lines need as many entries"),
        ({"transition": "0.9,0.2\n0.2,0.8\n"}, "transition[0]"),
    ],
)  # fmt: skip
def test_bad_folders_are_refused_in_one_sentence(tmp_path, changed, message):
    files = {name: text for name, text in {**MATLAB, **changed}.items() if text is not None}
    with pytest.raises(HidivError) as refused:
        hd.load(folder(tmp_path, **files))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_empty_folder_on_the_command_line(tmp_path):
    assert "transition.csv" in refusal("compare", str(tmp_path), str(tmp_path), "--tree", "chain:9")
