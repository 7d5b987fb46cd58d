"""Every kernel runs as its numpy twin and on every instruction set this processor has."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules

import pytest

import hidiv.recursions
from hidiv.recursions.kernels import twins

for module in iter_modules(hidiv.recursions.__path__, "hidiv.recursions."):
    import_module(module.name)  # fills the twins

compiled = import_module("hidiv._kernels") if find_spec("hidiv._kernels") else None
WAYS = ["python"] + (compiled.targets() if compiled else [])


class Kernels:
    """Kernels by name, all run one way."""

    def __init__(self, way):
        self.way = way
        self.is_compiled = way != "python"

    def __getattr__(self, name):
        return getattr(compiled, name) if self.is_compiled else twins[name]


@pytest.fixture(params=WAYS)
def kernels(request):
    before = compiled.target() if compiled else None
    if request.param != "python":
        compiled.set_target(request.param)
    yield Kernels(request.param)
    if compiled:
        compiled.set_target(before)
