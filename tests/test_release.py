"""One version, and configuration of releases that agrees with the package."""

import re
import tomllib
from pathlib import Path

import hidiv as hd

TOP = Path(__file__).parents[1]


def project():
    return tomllib.loads((TOP / "pyproject.toml").read_text())


def test_one_version():
    assert "version" in project()["project"]["dynamic"]
    assert re.search(r"^version: (.*)$", (TOP / "CITATION.cff").read_text(), re.M)[1] == hd.__version__


def test_lowest_versions_are_the_bounds_that_are_declared():
    extras = project()["project"]["optional-dependencies"]
    lowest = dict(line.split("==") for line in extras["lowest"] if "==" in line)
    for requirement in project()["project"]["dependencies"]:
        name, bound = requirement.split(">=")
        assert lowest[name] in (bound, f"{bound}.0"), requirement


def test_changelog_has_the_form_of_keep_a_changelog():
    sections = re.findall(r"^## (.*)$", (TOP / "CHANGELOG.md").read_text(), re.M)
    assert sections[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", name) for name in sections[1:]), sections
    kinds = set(re.findall(r"^### (.*)$", (TOP / "CHANGELOG.md").read_text(), re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_pre_commit_uses_the_formatter_of_make_lint():
    wanted = next(line for line in project()["project"]["optional-dependencies"]["lint"] if "clang" in line)
    assert wanted in (TOP / ".pre-commit-config.yaml").read_text()
