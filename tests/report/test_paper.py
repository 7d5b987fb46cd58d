"""hidiv paper: what is written, and that every verdict can fall the other way."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from hidiv.cli.demo import packaged_model
from hidiv.report.paper import printed
from hidiv.report.paper.claims import claims
from hidiv.report.paper.experiments import Experiments, run, table_1
from hidiv.report.paper.verdicts import verdicts
from tests.cli.running import hidiv, refusal


@cache
def found() -> Experiments:
    return run(seed=1, most_trials=1000)


def test_the_printed_parameters_are_those_of_the_demo() -> None:
    for models, kind in ((printed.chains(), "chain"), (printed.trees(), "tree")):
        assert list(models) == [packaged_model(f"{kind}_{side}.json") for side in "pq"]


def test_evidence_is_that_of_the_supplement() -> None:
    x = printed.evidence()
    assert len(x) == 100
    assert [x[i - 1] + 1 for i in (1, 10, 11, 20, 21, 30, 31, 61, 91, 100)] == [1, 1, 2, 2, 3, 3, 1, 1, 1, 1]
    assert len(printed.evidence(95)) == 95


def test_values() -> None:
    values = found()
    assert values.trees.joint.value == pytest.approx(0.689522884550565, rel=1e-14)
    assert values.trees.do.value == pytest.approx(values.trees.joint.value, rel=1e-14)
    assert values.lengths.joint_rate.value == pytest.approx(0.568057850529034, rel=1e-14)
    assert values.lengths.observed_rate.value == pytest.approx(0.4658941425083, rel=1e-12)
    at = dict(zip(values.given.lengths, values.given.posterior, strict=True))
    assert list(at) == list(range(5, 101))
    # The reference values have 14 digits.
    assert [at[n].value for n in (5, 10, 50)] == pytest.approx(
        [0.40816119591361, 0.98751465295810, 4.36595954303855], rel=1e-12
    )
    assert values.supplement.joint.value == pytest.approx(5.662866894597586, rel=1e-14)
    assert values.supplement.observed.value == pytest.approx(4.724678070680, rel=1e-11)  # given to 13 digits
    # The reference values have five digits.
    assert values.supplement.path_p == pytest.approx(0.0048961, rel=2e-5)
    assert values.supplement.path_q == pytest.approx(0.0013117, rel=5e-5)
    expected = dict(zip(values.given.sampled, values.given.expected, strict=True))
    assert expected[10].value == pytest.approx(5.662866894597586 - 4.724678070680, rel=1e-10)


def test_verdicts() -> None:
    words = {(v.place, v.what): v.verdict for v in verdicts(found())}
    assert words["Section IV, Table I", "exact divergence of the trees"] == "reproduced"
    assert words["Table I, 10^2 trials", "Monte Carlo, 95 % interval"] == "reproduced"
    assert words["Table I, 10^3 trials", "Monte Carlo, 95 % interval"] == "reproduced"
    assert words["Table I, 10^6 trials", "Monte Carlo, 95 % interval"] == "not drawn"
    assert words["Supplement, N = 10", "D = U"] == "differs"
    assert words["Supplement, N = 10", "P(S = s | X = x) under theta_1"] == "differs"
    assert words["Supplement, N = 10", "P(S = s | X = x) under theta_0"] == "differs"
    assert words["Proposition", "D = U, Do's formula"] == "reproduced"
    assert words["Supplement", "stationary law of theta_1"] == "reproduced"
    assert words["Figure 2", "D / N over N, exact, Monte Carlo and rate"] == "redrawn"
    assert len(words) == 15
    assert {v.observed for v in verdicts(found()) if v.what.endswith("trees")} == {"0.5766"}


def test_a_wrong_number_is_not_reproduced() -> None:
    values = found()
    trees = replace(
        values.trees,
        joint=replace(values.trees.joint, value=0.5767),
        estimates=[replace(e, value=e.value + 1.0) for e in values.trees.estimates],
    )
    example = replace(values.supplement, do=replace(values.supplement.do, value=5.67))
    lengths = replace(values.lengths, stationary=np.array([0.6, 0.4]))
    wrong = verdicts(replace(values, trees=trees, supplement=example, lengths=lengths))
    words = {(v.place, v.what): v.verdict for v in wrong}
    assert words["Section IV, Table I", "exact divergence of the trees"] == "differs"
    assert words["Table I, 10^3 trials", "Monte Carlo, 95 % interval"] == "differs"
    assert words["Proposition", "D = U, Do's formula"] == "differs"
    assert words["Supplement", "stationary law of theta_1"] == "differs"


def test_an_interval_of_the_wrong_width_is_not_reproduced() -> None:
    values = found()
    narrow = [replace(e, std_error=e.std_error / 2) for e in values.trees.estimates]
    words = {v.place: v.verdict for v in verdicts(replace(values, trees=replace(values.trees, estimates=narrow)))}
    assert words["Table I, 10^3 trials"] == "differs"


def test_every_claim_has_a_verdict_and_a_number_of_the_claim() -> None:
    judged = {claim.said: claim for claim in claims(found())}
    assert len(judged) == 16
    said = {word: next(claim for words, claim in judged.items() if word in words) for word in (
        "asymptotic", "C children", "eigenvectors", "O(log N)", "constant time", "numerical issue", "actual value",
    )}  # fmt: skip
    assert [claim.verdict for claim in said.values()] == [
        "does not hold", "holds", "holds in part", "holds", "holds", "cannot be checked", "does not hold",
    ]  # fmt: skip
    assert "2.766 from there to 100, which is 0.0922 a step" in said["asymptotic"].found
    assert "40 squarings" in said["O(log N)"].found
    assert "0.5766 where the trees' joint one is 0.6895" in said["actual value"].found


def test_command(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "paper"
    done = hidiv("paper", "--out", str(folder), "--trials", "1000", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "reproduced" in done.stdout
    assert "4.72467807068" in done.stdout
    described = json.loads((folder / "paper.json").read_text())
    assert (described["format"], described["version"], described["seed"]) == ("hidiv.paper", 1, 3)
    assert {v["verdict"] for v in described["verdicts"]} == {"reproduced", "differs", "redrawn", "not drawn"}
    assert described["trees"]["joint"]["value"] == pytest.approx(0.689522884550565, rel=1e-14)
    summary = (folder / "summary.md").read_text()
    for name in ("figure-1", "table-1", "figure-2", "figure-3"):
        assert f"({name}.svg)" in summary
        root = ElementTree.parse(folder / f"{name}.svg").getroot()
        assert root.tag.endswith("svg")
        with Image.open(folder / f"{name}.png") as picture:
            assert min(picture.size) > 400
            assert len(picture.convert("L").getcolors()) > 10
    words = " ".join((folder / "figure-1.svg").read_text().split())
    assert "Hidden states (circles)" in words
    assert described["trees"]["estimates"] == [one.to_dict() for one in list(table_1(3, 1000))[-1].estimates]
    assert described["missing"] == []
    page = (folder / "paper.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 4
    assert "within 3 standard errors" in page
    assert "0.0922 a step" in page
    assert "Not finished" not in summary


def test_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    assert "is a file" in refusal("paper", "--out", str(taken))
    assert "Missing option '-o' / '--out'" in refusal("paper")
    assert "cannot be made" in refusal("paper", "--out", str(taken / "below"), "--trials", "100")
