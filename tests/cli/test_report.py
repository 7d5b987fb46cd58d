"""hidiv report, run as a user would."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import numpy as np

import hidiv as hd
from tests.cli.running import CHAINS, TREES, hidiv, refusal


def test_two_models(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("\n".join(str(i % 3) for i in range(50)) + "\n")
    out = tmp_path / "report.html"
    done = hidiv("report", *CHAINS, "--data", str(tmp_path / "x.csv"), "-o", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    page = out.read_text(encoding="utf-8")
    assert "theta_1 <span" in page
    assert "Which observations decide" in page
    assert hidiv("report", *TREES, "--tree", "regular:2x3", "-o", str(out)).returncode == 0
    assert "Which observations decide" not in out.read_text(encoding="utf-8")


def test_it_asks_for_nothing_from_anywhere(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    hidiv("report", *CHAINS, "--tree", "chain:20", "-o", str(out))
    page = out.read_text(encoding="utf-8")
    assert re.findall(r"""(?:src|href)=(?!["'](?:#|data:))""", page) == []
    assert "default-src 'none'" in unescape(page)
    assert re.findall(r"https?://", page) == []
    assert len(page) < 1_000_000


def test_a_model_without_a_name_goes_by_its_file(tmp_path: Path) -> None:
    for name, rate in (("left", 1.0), ("right", 2.0)):
        hd.save(hd.Model([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], hd.Poisson([rate, 4.0])), tmp_path / f"{name}.json")
    out = tmp_path / "report.html"
    hidiv("report", str(tmp_path / "left.json"), str(tmp_path / "right.json"), "--tree", "chain:5", "-o", str(out))
    assert "<title>left against right</title>" in out.read_text(encoding="utf-8")


def test_many_models(tmp_path: Path) -> None:
    models = [hd.Model([1.0], [[1.0]], hd.Poisson([1.0 + i]), name=f"rate {i}") for i in range(5)]
    hd.save(hd.Collection(models), tmp_path / "many.npz")
    out = tmp_path / "report.html"
    assert hidiv("report", str(tmp_path / "many.npz"), "--tree", "chain:9", "-o", str(out)).returncode == 0
    assert "5 models, all pairs" in out.read_text(encoding="utf-8")


def test_refused(tmp_path: Path) -> None:
    out = str(tmp_path / "report.html")
    assert "--tree: is needed" in refusal("report", *CHAINS, "-o", out)
    assert "the second is missing" in refusal("report", CHAINS[0], "--tree", "chain:9", "-o", out)
    assert "the second is missing" in refusal("report", CHAINS[0])
    assert "-o: is needed" in refusal("report", *CHAINS, "--tree", "chain:9")
    assert "belongs to a report about two models" in refusal(
        "report", *CHAINS, CHAINS[0], "--tree", "chain:9", "--data", "x.csv", "-o", out
    )
    assert "cannot be written" in refusal(
        "report", *CHAINS, "--tree", "chain:9", "-o", str(tmp_path / "no" / "report.html")
    )
    assert not Path(out).exists()


def test_numbers_that_do_not_fit_lie_beside_the_page(tmp_path: Path) -> None:
    out, data = tmp_path / "report.html", tmp_path / "x.csv"
    data.write_text("".join(f"{x}\n" for x in np.random.default_rng(5).integers(0, 3, 40_000)))
    (tmp_path / "report.json").write_text('{"format": "hidiv.model"}')  # somebody's: it stays
    for _ in range(2):  # the second time over what the first wrote
        done = hidiv("report", *CHAINS, "--data", str(data), "-o", str(out))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"{out}, with all of its numbers in report-data.json\n"
    assert (tmp_path / "report.json").read_text() == '{"format": "hidiv.model"}'
    told = json.loads((tmp_path / "report-data.json").read_text())
    assert len(told["profile"]["by_node"]) == 40_000
    assert 'href="report-data.json"' in out.read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.json", "report-data.json", "x.csv"}
