"""hidiv compare."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import hidiv as hd
from tests.cli.running import CHAINS, TREES, hidiv, refusal


def test_prints_the_joint_divergence_with_its_parts() -> None:
    done = hidiv("compare", *CHAINS, "--tree", "chain:10")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = dict(line.rsplit("  ", 2)[:2] for line in done.stdout.splitlines() if "nats, exact" in line)
    assert {label.strip(): float(value) for label, value in lines.items()} == {
        "joint divergence": 5.662866895,
        "observed divergence": 4.724678071,
        "expected posterior": 0.938188824,
    }
    assert "joint 5.662866895 = observed 4.724678071 + expected posterior 0.9381888239" in done.stdout
    for label in (
        "initial law",
        "transition rows",
        "from state 1",
        "emission states",
        "per node",
        "rates of a long chain",
    ):
        assert label in done.stdout


def test_json_holds_the_same_numbers() -> None:
    told = json.loads(hidiv("compare", *CHAINS, "--tree", "chain:10", "--json").stdout)
    p, q = (hd.load(path) for path in CHAINS)
    exact = hd.joint_kl(p, q, 10)
    assert told["format"] == "hidiv.comparison"
    assert told["joint"]["value"] == exact.value
    assert told["joint"]["parts"]["rows"] == exact.parts.rows.tolist()
    assert told["rates"]["joint"]["value"] == hd.joint_kl_rate(p, q).value
    assert told["joint_per_node"]["value"] == hd.joint_kl(p, q, 10, per_node=True).value


def test_bits() -> None:
    nats, bits = (
        json.loads(hidiv("compare", *TREES, "--tree", "regular:2x3", "--json", "--unit", unit).stdout)["joint"]["value"]
        for unit in ("nats", "bits")
    )
    assert bits == pytest.approx(nats / 0.6931471805599453, rel=1e-15)
    assert nats == pytest.approx(0.689522884550565, rel=1e-13)


def test_fail_above_is_exit_code_one_and_still_prints() -> None:
    above, below = (hidiv("compare", *CHAINS, "--tree", "chain:10", "--fail-above", limit) for limit in ("5", "6"))
    assert (above.returncode, below.returncode) == (1, 0)
    assert above.stdout == below.stdout != ""


def test_a_tree_too_large_for_the_value_gives_it_per_node() -> None:
    done = hidiv("compare", *CHAINS, "--tree", "regular:2x100000")
    assert "joint divergence per node  0.5680578505" in done.stdout
    told = json.loads(hidiv("compare", *CHAINS, "--tree", "regular:2x100000", "--json").stdout)
    assert told["joint"] is None
    assert told["joint_per_node"]["value"] == pytest.approx(0.568057850529034, rel=1e-12)


def test_reads_standard_input_and_tree_files(tmp_path: Path) -> None:
    hd.save(hd.Tree([-1, 0, 0, 1]), tmp_path / "tree.json")
    done = hidiv(
        "compare", "-", CHAINS[1], "--tree", str(tmp_path / "tree.json"), "--json", stdin=Path(CHAINS[0]).read_text()
    )
    p, q = (hd.load(path) for path in CHAINS)
    assert json.loads(done.stdout)["joint"]["value"] == hd.joint_kl(p, q, hd.Tree([-1, 0, 0, 1])).value


def test_with_data_and_montecarlo(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n0\n\n2\n1\n")
    told = json.loads(
        hidiv("compare", *CHAINS, "--data", str(tmp_path / "x.csv"), "--montecarlo", "2000", "--json").stdout
    )
    p, q = (hd.load(path) for path in CHAINS)
    assert told["posterior"]["value"] == hd.posterior_kl(p, q, [0, float("nan"), 2, 1]).value
    for name in ("joint", "observed", "posterior"):
        beside = told[f"{name}_montecarlo"]
        assert beside["status"] == "estimate"
        assert abs(beside["value"] - told[name]["value"]) < 5 * beside["std_error"]


def test_infinite_values_are_explained(tmp_path: Path) -> None:
    p = hd.load(CHAINS[0])
    narrow = hd.Model(p.initial, p.transition, hd.Categorical([[0.5, 0.5, 0], [0.2, 0.1, 0.7]]), name="narrow")
    hd.save(narrow, tmp_path / "narrow.json")
    done = hidiv("compare", CHAINS[0], str(tmp_path / "narrow.json"), "--tree", "chain:3")
    assert done.returncode == 0
    assert "infinite" in done.stdout
    assert "what theta_1 does and narrow forbids:\n  symbol 2 in state 0: 0.6 in theta_1, 0 in narrow\n" in done.stdout


def test_of_many_infinities_the_likeliest_are_told(tmp_path: Path) -> None:
    """What is finite comes first; models without names have those of their files; three places, and how many more."""
    rng = np.random.default_rng(0)
    dense, probs = rng.dirichlet(np.ones(6), 6), rng.uniform(0.1, 0.9, (6, 2))
    sparse = dense * (dense >= np.sort(dense, axis=1)[:, 3:4])
    hd.save(hd.Model(dense[0], dense, hd.Bernoulli(probs)), tmp_path / "liver.json")
    hd.save(hd.Model(dense[0], sparse / sparse.sum(axis=1)[:, None], hd.Bernoulli(probs)), tmp_path / "lung.json")
    done = hidiv("compare", str(tmp_path / "liver.json"), str(tmp_path / "lung.json"), "--tree", "chain:20")
    printed = " ".join(done.stdout.split())
    assert printed.startswith("D(liver || lung) on a chain of 20 nodes the observed divergence is finite")
    assert "because lung forbids 18 of 36 transitions that liver takes" in printed
    assert "hd.smoothed(q, weight) fills the zeros of lung" in printed
    assert done.stdout.index("observed divergence  ") < done.stdout.index("joint divergence  ")
    told = done.stdout.split("what liver does and lung forbids, the likeliest first:\n")[1].split("\n")[:4]
    largest = np.sort(dense[sparse == 0])[::-1]
    assert [float(line.split(": ")[1].split(" in liver")[0]) for line in told[:3]] == [
        float(f"{x:.3g}") for x in largest[:3]
    ]
    assert told[3] == "  and 15 more, which the page of hidiv report lists"
    assert done.stdout.count("infinite because") == 0
    short = repr(hd.compare(hd.load(tmp_path / "liver.json"), hd.load(tmp_path / "lung.json"), 20))
    assert "; and 5 more reasons, see .infinite" in short


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["compare", "missing.json", CHAINS[1], "--tree", "chain:3"], "missing.json: cannot be read"),
        (["compare", *CHAINS], "--tree: is needed"),
        (["compare", *CHAINS, "--tree", "chain:x"], "sizes are whole numbers, got x"),
        (["compare", *CHAINS, "--tree", "chain:0"], "at least 1"),
        (["compare", *CHAINS, "--tree", "regular:3"], "regular:CxN"),
        (["compare", *CHAINS, "--tree", CHAINS[0]], "hidiv.tree"),
        (["compare", CHAINS[0], TREES[1], "--tree", "regular:2x3"], "p shows symbols and q shows numbers"),
        (["compare", *TREES, "--tree", "chain:3"], "the tree has none"),
        (["compare", *CHAINS, "--tree", "chain:3", "--unit", "hartleys"], "hartleys"),
        (["compare", CHAINS[0]], "Missing argument"),
        (["compare", *CHAINS, "--tre", "chain:3", "--no-such"], "No such option"),
        (["nonsense"], "No such command"),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], part: str) -> None:
    assert part in refusal(*words)


def test_a_broken_model_names_the_file_and_the_place(tmp_path: Path) -> None:
    broken = json.loads(Path(CHAINS[0]).read_text())
    broken["transition"][1] = [0.2, 0.7]
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    said = refusal("compare", str(tmp_path / "broken.json"), CHAINS[1], "--tree", "chain:3")
    assert "broken.json" in said
    assert "transition[1]" in said
    assert "must sum to 1 within 1e-08" in said


def test_several_trees_add_up() -> None:
    done = hidiv("compare", *CHAINS, "--tree", "chain:3,regular:2x2", "--json")
    found = json.loads(done.stdout)
    p, q = (hd.load(path) for path in CHAINS)
    assert found["joint"]["value"] == hd.joint_kl(p, q, [3, hd.Tree.regular(2, 2)]).value
    assert found["subject"].endswith("on 2 independent trees with 6 nodes together")
    drawn = json.loads(hidiv("compare", *CHAINS, "--tree", "chain:3,chain:4", "--montecarlo", "10", "--json").stdout)
    assert drawn["joint_montecarlo"]["n_samples"] == 20
    one = "must be one tree here, got chain:3,chain:4; hidiv compare takes several"
    assert one in refusal("report", *CHAINS, "--tree", "chain:3,chain:4", "-o", "report.html")
    assert "whole numbers" in refusal("compare", *CHAINS, "--tree", "chain:3,chain:x")


def test_initial_laws_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "fitted.json"
    chain = hd.load(CHAINS[1])
    hd.save(hd.Model([1.0, 1e-75], chain.transition, chain.emission), path)
    printed = hidiv("compare", CHAINS[0], path, "--tree", "chain:10").stdout
    assert "% of the joint divergence is the initial law of fitted" in printed
    left_out = hidiv("compare", CHAINS[0], path, "--tree", "chain:10", "--initial", "none", "--json").stdout
    assert json.loads(left_out)["joint"]["parts"]["initial"] == 0.0
    assert "does not go with" in refusal("compare", *CHAINS, "--initial", "none", "--montecarlo", "10")


def test_estimates_have_the_digits_they_have_and_levels_are_levels(tmp_path):
    rng = np.random.default_rng(4)
    for name in ("p", "q"):
        laws = [hd.Gaussian(rng.normal(size=3), std=[1.0, 1.0, 1.0]) for _ in range(3)]
        steps = [None, *(rng.dirichlet([2, 2, 2], 3) for _ in range(2))]
        hd.save(hd.Model([0.5, 0.25, 0.25], steps, laws), tmp_path / f"{name}.json")
    done = hidiv("compare", str(tmp_path / "p.json"), str(tmp_path / "q.json"), "--tree", "regular:2x3")
    lines = done.stdout.splitlines()
    assert any(line.startswith("    level 2 ") for line in lines)
    assert not any(line.startswith("    group") for line in lines)
    observed = next(line for line in lines if line.startswith("observed divergence")).split()
    assert observed[3:6] == ["nats,", "estimate", "±"]
    assert "(95 % interval)" in " ".join(observed)
    assert len(observed[2].partition(".")[2]) == len(observed[6].partition(".")[2])


def marked(path: Path, columns: list[str], chance: float) -> str:
    model = hd.Model([1.0], [[1.0]], hd.Bernoulli([[chance, *[0.5] * (len(columns) - 1)]]), column_names=columns)
    hd.save(model, path)
    return str(path)


def test_columns_in_different_orders_are_refused_or_chosen_by_name(tmp_path: Path) -> None:
    one = marked(tmp_path / "one.json", ["a", "b", "c"], 0.2)
    two = marked(tmp_path / "two.json", ["b", "a"], 0.5)
    assert "--columns common compares the 2 columns that both have" in refusal("compare", one, two, "--tree", "chain:5")
    done = hidiv("compare", one, two, "--tree", "chain:5", "--columns", "common", "--json")
    assert json.loads(done.stdout)["joint"]["value"] == pytest.approx(5 * (0.2 * np.log(0.4) + 0.8 * np.log(1.6)))
    done = hidiv("compare", one, two, "--tree", "chain:5", "--columns", "b", "--json")
    assert json.loads(done.stdout)["joint"]["value"] == 0.0
    assert "needs models with names" in refusal("compare", *CHAINS, "--tree", "chain:5", "--columns", "common")


def test_of_many_states_the_largest_are_listed_by_size(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    models = [
        hd.Model(np.full(12, 1 / 12), rng.dirichlet(np.ones(12), 12), hd.Categorical(np.full((12, 2), 0.5)))
        for _ in range(2)
    ]
    paths = [str(tmp_path / f"{i}.json") for i in range(2)]
    for model, path in zip(models, paths, strict=True):
        hd.save(model, path)
    rows = hd.joint_kl(*models, 10).parts.rows  # type: ignore[union-attr]
    lines = hidiv("compare", *paths, "--tree", "chain:10").stdout.splitlines()
    listed = [(int(line.split()[2]), float(line.split()[3])) for line in lines if line.startswith("    from state")]
    assert [s for s, _ in listed] == np.argsort(-rows, kind="stable")[:10].tolist()
    (rest,) = [float(line.split()[3]) for line in lines if line.startswith("    2 others together")][:1]
    assert rest == pytest.approx(np.sort(rows)[:2].sum(), rel=1e-6)


def test_columns_that_differ_only_in_case_are_pointed_out(tmp_path: Path) -> None:
    one = marked(tmp_path / "one.json", ["x", "H3k4", "H3k9"], 0.2)
    two = marked(tmp_path / "two.json", ["H3K4", "H3K9", "x"], 0.5)
    said = refusal("compare", one, two, "--tree", "chain:5")
    assert "are not the same (H3k4 and H3K4 differ only in case; the same holds for 1 other pair)" in said
