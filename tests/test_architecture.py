"""The code is laid out as ARCHITECTURE.md says, and stays easy to find one's way in."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache

import pytest

from tests.architecture import COMMAND, HOME, PAGE, WAYS, block, files_listed, folders, trace

FILES = sorted(HOME.rglob("*.py"))
PACKAGES = [path for path in FILES if path.name == "__init__.py" and path.parent != HOME]

# Base names that two modules may share, and why.
SHARED = {
    "kl": "the public functions of a quantity, in the folder of that quantity",
}


FOR_TYPES = False  # imports for type checkers alone never run, so they make no circle


@cache
def traced() -> dict[str, list[str]]:
    return trace()


@pytest.mark.parametrize("way", WAYS)
def test_a_number_passes_the_files_that_are_listed(way: str) -> None:
    assert block(PAGE.read_text(encoding="utf-8"), way) == files_listed(traced()[way]), f"run {COMMAND}"


def test_the_map_shows_every_folder() -> None:
    assert block(PAGE.read_text(encoding="utf-8"), "folders") == folders(), f"run {COMMAND}"


def test_a_base_name_means_one_module() -> None:
    """Commands are named as the function they serve, and a file may have the name of its folder."""
    places = defaultdict(list)
    for path in FILES:
        if path.name != "__init__.py" and path.parent != HOME / "cli":
            places[path.stem].append(path.relative_to(HOME).as_posix())
    assert {name: paths for name, paths in places.items() if len(paths) > 1 and name not in SHARED} == {}
    assert {name for name in SHARED if len(places[name]) < 2} == set(), "SHARED names what is not shared"


def test_a_class_name_means_one_class() -> None:
    places = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(HOME).as_posix())
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_modules_do_not_import_each_other_in_circles() -> None:
    imports = {module(path): set(imported(path)) for path in FILES}
    assert list(circles(imports)) == []


def test_array_types_are_named_in_one_file() -> None:
    named = {
        path.relative_to(HOME).as_posix()
        for path in FILES
        if re.search(r"^\w+(: TypeAlias)? = NDArray\[", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named <= {"types.py"}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.parent.relative_to(HOME).as_posix())
def test_a_package_says_what_its_files_hold(package) -> None:  # type: ignore[no-untyped-def]
    words = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
    inside = [path.stem for path in package.parent.glob("*.py") if path.name != "__init__.py"]
    inside += [path.parent.name for path in package.parent.glob("*/__init__.py")]
    assert [name for name in inside if re.search(rf"\b{name}\b", words) is None] == []


def module(path) -> str:  # type: ignore[no-untyped-def]
    """'hidiv.models.tree' for a file."""
    return ".".join(path.relative_to(HOME.parent).with_suffix("").parts).removesuffix(".__init__")


def imported(path) -> Iterator[str]:  # type: ignore[no-untyped-def]
    """The modules of hidiv that a file imports, inside functions too, and for type checkers if FOR_TYPES is set."""
    known = {module(other) for other in FILES}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not FOR_TYPES:
        tree.body = [
            node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        ]
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in whole]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name for name in names if name in known and name not in (module(path), "hidiv"))


def circles(imports: dict[str, set[str]]) -> Iterator[list[str]]:
    """The sets of modules that can reach each other by imports."""
    reached = {}
    for start in imports:
        seen, ahead = set(), [start]
        while ahead:
            for name in imports[ahead.pop()] - seen:
                seen.add(name)
                ahead.append(name)
        reached[start] = seen
    done: set[str] = set()
    for start in imports:
        circle = sorted(name for name in reached[start] if start in reached[name])
        if start not in done and circle:
            yield circle
            done.update(circle)
