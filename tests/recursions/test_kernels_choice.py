"""HIDIV_KERNELS, HIDIV_SIMD, and the three descriptions of each kernel: twin, extension, stub."""

from __future__ import annotations

import ast
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import hidiv
import hidiv.recursions
from hidiv.errors import HidivError
from hidiv.recursions.kernels import chosen, twins, use_simd
from tests.recursions.conftest import compiled

for module in pkgutil.iter_modules(hidiv.recursions.__path__, "hidiv.recursions."):
    import_module(module.name)


def run(wish, code, simd=None):
    """Code in a fresh process with HIDIV_KERNELS and HIDIV_SIMD set so (None: not set)."""
    environment = {key: value for key, value in os.environ.items() if key not in ("HIDIV_KERNELS", "HIDIV_SIMD")}
    if wish is not None:
        environment["HIDIV_KERNELS"] = wish
    if simd is not None:
        environment["HIDIV_SIMD"] = simd
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


DESCRIBE = "from hidiv.recursions.kernels import description; print(description())"


def test_python_is_forced():
    assert run("python", DESCRIBE).stdout == "python (asked for by HIDIV_KERNELS)\n"
    code = "import hidiv.recursions.inward, sys; assert 'hidiv._kernels' not in sys.modules"
    assert run("python", code).returncode == 0


@pytest.mark.parametrize("wish", [None, "", "auto"])
def test_the_extension_is_taken_where_there_is_one(wish):
    expected = (
        f"compiled, {compiled.targets()[0]}\n" if compiled else "python (no compiled extension in this install)\n"
    )
    assert run(wish, DESCRIBE).stdout == expected


def test_compiled_without_an_extension_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "hidiv._kernels", None)
    with pytest.raises(
        HidivError, match="^HIDIV_KERNELS=compiled: no compiled extension in this install; reinstall .*$"
    ):
        chosen("compiled")
    assert chosen("auto") == (None, "python (no compiled extension in this install)")


def test_an_extension_that_does_not_load_is_told(monkeypatch):
    def refuse(name):
        raise ImportError("wrong ELF class")

    monkeypatch.setattr("hidiv.recursions.kernels.import_module", refuse)
    assert chosen("auto") == (None, "python (the compiled extension does not load: wrong ELF class)")
    with pytest.raises(HidivError, match="wrong ELF class"):
        chosen("compiled")


@pytest.mark.parametrize("wish", ["fast", "Python", "1"])
def test_anything_else_is_refused(wish):
    with pytest.raises(HidivError, match=f"^HIDIV_KERNELS: must be auto, compiled or python, got {wish}$"):
        chosen(wish)
    code = "from hidiv.cli.main import main; import sys; sys.argv[1:] = ['--version']; main()"
    told = run(wish, code)
    assert told.returncode == 2
    assert told.stderr == f"hidiv: HIDIV_KERNELS: must be auto, compiled or python, got {wish}\n"


VERSION = "from hidiv.cli.main import main; import sys; sys.argv[1:] = ['--version']; main()"


@pytest.mark.parametrize("simd", compiled.targets() if compiled else [])
def test_an_instruction_set_is_chosen_and_shown(simd):
    told = run("compiled", VERSION, simd)
    assert told.stdout.endswith(f"kernels: compiled, {simd}\n")


@pytest.mark.parametrize("simd", ["baseline", "avx2", "avx512"])
def test_numpy_twins_run_whatever_instruction_set_is_named(simd):
    assert run("python", DESCRIBE, simd).stdout == "python (asked for by HIDIV_KERNELS)\n"


class Processor:
    """An extension on a processor that runs some instruction sets."""

    def __init__(self, *present):
        self.present, self.used = list(present), present[0]

    def targets(self):
        return self.present

    def set_target(self, name):
        self.used = name


def test_an_instruction_set_that_is_not_there_is_refused():
    one, two = Processor("baseline"), Processor("avx2", "baseline")
    with pytest.raises(HidivError, match="^HIDIV_SIMD: this processor or this install runs baseline, got avx2$"):
        use_simd("avx2", one)
    with pytest.raises(HidivError, match="runs avx2 and baseline, got avx512$"):
        use_simd("avx512", two)
    for wish, used in (("auto", "avx2"), ("baseline", "baseline")):
        use_simd(wish, two)
        assert two.used == used


@pytest.mark.parametrize("wish", ["sse", "AVX2", "1"])
def test_any_other_instruction_set_is_refused(wish):
    words = f"HIDIV_SIMD: must be auto, baseline, avx2 or avx512, got {wish}"
    with pytest.raises(HidivError, match=f"^{words}$"):
        use_simd(wish, None)
    told = run(None, VERSION, wish)
    assert (told.returncode, told.stderr) == (2, f"hidiv: {words}\n")


STUB = {
    node.name: [argument.arg for argument in node.args.args]
    for node in ast.parse(Path(hidiv.__path__[0], "_kernels.pyi").read_text()).body
    if isinstance(node, ast.FunctionDef)
}


@pytest.mark.parametrize("name", twins)
def test_a_twin_takes_what_the_stub_says(name):
    assert list(inspect.signature(twins[name]).parameters) == STUB[name]


@pytest.mark.parametrize("names", [{name for name in dir(compiled) if not name.startswith("_")}] if compiled else [])
def test_the_stub_lists_the_extension(names):
    assert names == set(STUB)


@pytest.mark.parametrize("name", STUB if compiled else [])
def test_the_extension_takes_what_the_stub_says(name):
    signature = getattr(compiled, name).__nb_signature__[0][0]
    assert re.findall(r"[(,] ?(\w+): ", signature) == STUB[name]
