"""The code blocks of the guides for developers, run as they stand."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "developer"


def python_blocks(guide: str) -> list[str]:
    """The Python code blocks of a guide, in order."""
    blocks = re.findall(
        r"^ *```python\n(.*?)^ *```", (FOLDER / guide).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [dedent(block) for block in blocks]


def run(code: str, guide: str, **names: Any) -> dict[str, Any]:
    """What a block defines, with these names known to it."""
    exec(compile(code, str(FOLDER / guide), "exec"), names)
    return names


def run_module(code: str, guide: str, name: str, monkeypatch: Any) -> ModuleType:
    """A block as a module that can be imported for the time of one test."""
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(code, str(FOLDER / guide), "exec"), vars(module))
    return module
