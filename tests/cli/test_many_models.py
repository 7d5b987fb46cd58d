"""hidiv pairwise, nearest and cluster, run as a user would."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import hidiv as hd
from hidiv.files.named_matrices import read_matrix
from tests.cli.running import CHAINS, hidiv, refusal
from tests.comparison.many import stacked


@pytest.fixture
def many(tmp_path):
    """A collection of six models in two clusters, and one of them as a file."""
    far = stacked(2, 1).to_arrays()
    rng = np.random.default_rng(2)

    def near(rows):
        moved = np.repeat(rows, 3, axis=0)
        moved = moved * (1 + 0.01 * rng.uniform(-1, 1, moved.shape))
        return moved / moved.sum(axis=-1, keepdims=True)

    models = hd.Collection.from_arrays({
        **{key: near(array) if array.ndim > 1 else array for key, array in far.items()},
        "name": np.array([f"m{i}" for i in range(6)]),
    })  # fmt: skip
    models.save(tmp_path / "many.npz")
    hd.save(models[4], tmp_path / "one.json")
    return tmp_path


def test_pairwise_to_files(many):
    models = hd.load(many / "many.npz")
    expected = np.asarray(hd.pairwise_kl(models, 100))
    for out in ("d.csv", "d.npz"):
        done = hidiv("pairwise", str(many / "many.npz"), "--tree", "chain:100", "--out", str(many / out))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("6 models, joint divergence D(row || column) in nats, exact\n")
        assert done.stderr == ""
        found = read_matrix(many / out)
        assert (found.values == expected).all()
        assert found.rows == found.columns == tuple(f"m{i}" for i in range(6))


def test_pairwise_of_files_in_words_and_json(tmp_path):
    done = hidiv("pairwise", *CHAINS, "--tree", "chain:10")
    assert done.returncode == 0, done.stderr
    assert "theta_1" in done.stdout
    assert "5.66287" in done.stdout
    store = str(tmp_path / "d.zarr")
    words = ["--tree", "chain:10", "--symmetric", "--unit", "bits", "--json"]
    done = hidiv("pairwise", *CHAINS, CHAINS[0], *words, "--store", store)
    found = json.loads(done.stdout)
    p, q = (hd.load(path) for path in CHAINS)
    both = (hd.joint_kl(p, q, 10).value + hd.joint_kl(q, p, 10).value) / np.log(2)
    np.testing.assert_allclose(found["matrix"], [[0, both, 0], [both, 0, both], [0, both, 0]], rtol=1e-11)
    assert found["names"] == ["theta_1", "theta_0", "theta_1 (2)"]
    assert found["status"] == "exact"
    assert hidiv("pairwise", *CHAINS, CHAINS[0], *words, "--store", store).stdout == done.stdout


def test_other_quantities(tmp_path):
    (tmp_path / "x.csv").write_text("0\n1\n2\n")
    done = hidiv("pairwise", *CHAINS, "--quantity", "posterior", "--data", str(tmp_path / "x.csv"), "--json")
    p, q = (hd.load(path) for path in CHAINS)
    assert json.loads(done.stdout)["matrix"][0][1] == pytest.approx(hd.posterior_kl(p, q, [0, 1, 2]).value, rel=1e-11)
    done = hidiv(
        "pairwise", *CHAINS, "--tree", "chain:5", "--quantity", "observed", "--method", "variational", "--json"
    )
    assert json.loads(done.stdout)["status"] == "approximation"
    done = hidiv("pairwise", *CHAINS, "--tree", "chain:5", "--quantity", "aligned", "--json")
    assert json.loads(done.stdout)["matrix"][0][1] == pytest.approx(hd.align(p, q, 5).value, rel=1e-11)
    done = hidiv("nearest", CHAINS[0], *CHAINS, "--tree", "chain:5", "--quantity", "aligned", "-k", "2", "--json")
    assert json.loads(done.stdout)["quantity"] == "aligned"
    assert json.loads(done.stdout)["nearest"][1]["divergence"] == pytest.approx(hd.align(p, q, 5).value, rel=1e-11)
    done = hidiv("pairwise", *CHAINS, "--tree", "chain:5", "--quantity", "observed", "--samples", "50", "--json")
    assert json.loads(done.stdout)["status"] == "estimate"
    assert json.loads(done.stdout)["std_error"][0][1] > 0


def test_standard_errors_have_the_unit_of_the_values(tmp_path):
    words = ["pairwise", *CHAINS, "--tree", "chain:5", "--quantity", "observed", "--samples", "40", "--json"]
    nats, bits = (json.loads(hidiv(*words, "--unit", unit).stdout) for unit in ("nats", "bits"))
    for key in ("matrix", "std_error"):
        assert bits[key][0][1] == pytest.approx(nats[key][0][1] / np.log(2.0), rel=1e-14)
        assert nats[key][0][1] > 0


def test_pictures(many):
    matrix, picture = str(many / "d.csv"), many / "d.png"
    words = ["--tree", "chain:100", "--out", matrix, "--plot", str(picture)]
    done = hidiv("pairwise", str(many / "many.npz"), *words)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    done = hidiv("cluster", matrix, "--plot", str(picture))
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_matrix_for_programs_says_what_it_holds(many):
    hidiv("pairwise", str(many / "many.npz"), "--tree", "chain:100", "--unit", "bits", "--out", str(many / "d.npz"))
    found = hd.load(many / "d.npz")
    assert (found.quantity, found.status, found.symmetric) == ("joint", "exact", False)
    expected = np.asarray(hd.pairwise_kl(hd.load(many / "many.npz"), 100))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-11)


def test_nearest(many):
    words = [str(many / "one.json"), str(many / "many.npz"), "--tree", "chain:100", "-k", "3"]
    done = hidiv("nearest", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("joint divergence D(m4 || model), exact\n\nm4")
    expected = hd.nearest(hd.load(many / "one.json"), hd.load(many / "many.npz"), 100, 3)
    for index in ("exact", "faiss"):
        found = json.loads(hidiv("nearest", *words, "--json", "--index", index).stdout)
        assert [each["index"] for each in found["nearest"]] == expected.indices.tolist()
        np.testing.assert_allclose([each["divergence"] for each in found["nearest"]], expected.values, rtol=1e-11)
        assert found["recall"] == (1.0 if index == "faiss" else None)
    hidiv("nearest", *words, "--out", str(many / "n.csv"))
    lines = list(csv.reader((many / "n.csv").read_text().splitlines()))
    assert lines[0] == ["model", "divergence in nats"]
    assert [line[0] for line in lines[1:]] == [f"m{i}" for i in expected.indices]


def test_cluster(many):
    hidiv("pairwise", str(many / "many.npz"), "--tree", "chain:100", "--out", str(many / "d.csv"))
    done = hidiv("cluster", str(many / "d.csv"), "--out", str(many / "c.csv"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 clusters of 3, 3 models (average), silhouette 1.000")
    lines = list(csv.DictReader((many / "c.csv").read_text().splitlines()))
    assert [line["cluster"] for line in lines] == list("000111")
    for method in ("average", "medoids"):
        found = json.loads(hidiv("cluster", str(many / "d.csv"), "--json", "--method", method).stdout)
        assert [each["models"] for each in found["clusters"]] == [["m0", "m1", "m2"], ["m3", "m4", "m5"]]
        assert all(each["medoid"] in each["models"] for each in found["clusters"])
        assert len(found["map"]["m0"]) == 2


def test_what_is_refused(many):
    one, bad = str(many / "one.json"), many / "bad.csv"
    assert refusal("pairwise", one).startswith("--tree: is needed")
    assert "belongs to --quantity posterior" in refusal("pairwise", one, "--tree", "chain:3", "--data", "x.csv")
    assert "belongs to --quantity posterior" in refusal("pairwise", one, "--quantity", "posterior")
    assert "no such file" in refusal("pairwise", str(many / "none.json"), "--tree", "chain:3")
    assert "has 2 states" in refusal("pairwise", one, CHAINS[0], "--tree", "chain:3")
    for text, sentence in (
        ("", "must begin with a line of names"),
        (",a,b\na,0,1\nb,1\n", "line 3: must have a name and 2 numbers, got 2 entries"),
        (",a,b\na,0,x\nb,1,0\n", "line 2: could not convert string to float: 'x'"),
        (",a,b\na,0,1\nc,1,0\n", "must have the same models in its rows and columns"),
        (",a,b\na,0,-1\nb,1,0\n", "divergences are numbers from 0"),
        (",a,b\na,0,nan\nb,1,0\n", "divergences are numbers from 0"),
    ):
        bad.write_text(text)
        assert sentence in refusal("cluster", str(bad))
    assert "format: must be hidiv.matrix" in refusal("cluster", str(many / "many.npz"))


def test_the_picture_of_clusters_says_what_it_shows(many, monkeypatch):
    from click.testing import CliRunner

    from hidiv import plots
    from hidiv.cli.cluster import cluster
    from hidiv.cli.pairwise import pairwise

    drawn = plots.pairwise
    titles = []

    def watched(*given, **options):
        axes = drawn(*given, **options)
        titles.extend(each.get_title(loc="left") for each in (axes, *axes.child_axes) if each.get_title(loc="left"))
        return axes

    monkeypatch.setattr(plots, "pairwise", watched)
    matrix, picture = str(many / "d.csv"), str(many / "d.svg")
    hidiv("pairwise", str(many / "many.npz"), "--tree", "chain:10", "--out", matrix)
    in_bits = [str(many / "bits.csv"), str(many / "bits.npz")]
    for out in in_bits:
        hidiv("pairwise", str(many / "many.npz"), "--tree", "chain:10", "--unit", "bits", "--out", out)
    for table in (matrix, *in_bits):
        done = CliRunner().invoke(cluster, [table, "--plot", picture], catch_exceptions=False)
        assert done.exit_code == 0
    files = [str(many / "many.npz"), "--tree", "chain:10", "--symmetric", "--plot", picture]
    assert CliRunner().invoke(pairwise, files, catch_exceptions=False).exit_code == 0
    assert titles == [
        "Jeffreys divergence D(p || q) + D(q || p) in nats",
        "Jeffreys divergence D(p || q) + D(q || p) in bits",
        "Jeffreys divergence D(p || q) + D(q || p) in bits",
        "joint divergence D(p || q) + D(q || p) in nats (exact)",
    ]
