"""Which kernels run: the compiled ones, or their numpy twins (HIDIV_KERNELS=auto|compiled|python).

Compiled ones use the best instruction set of the processor, or the one that HIDIV_SIMD=baseline|avx2|avx512 names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar, cast

from hidiv.errors import HidivError, refuse

Function = TypeVar("Function", bound=Callable[..., Any])

twins: dict[str, Callable[..., Any]] = {}  # the numpy specification of every kernel, whichever runs


def chosen(wish: str) -> tuple[ModuleType | None, str]:
    """The extension module or None for the twins, and the choice in words."""
    if wish not in ("auto", "compiled", "python"):
        refuse(HidivError, "HIDIV_KERNELS", "must be auto, compiled or python", wish)
    if wish == "python":
        return None, "python (asked for by HIDIV_KERNELS)"
    try:
        module = import_module("hidiv._kernels")
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError)
        reason = "no compiled extension in this install" if absent else f"the compiled extension does not load: {error}"
        if wish == "compiled":
            remedy = "reinstall where a C++ compiler is found, or set HIDIV_KERNELS=auto"
            refuse(HidivError, "HIDIV_KERNELS=compiled", reason, remedy=remedy)
        return None, f"python ({reason})"
    return module, "compiled"


SIMD = ("auto", "baseline", "avx2", "avx512")


def use_simd(wish: str, module: ModuleType | None) -> None:
    """Let the compiled kernels run on the instruction set of this name; auto: the best of this processor.

    Without compiled kernels there is nothing to choose: any name of an instruction set is accepted.
    """
    if wish not in SIMD:
        refuse(HidivError, "HIDIV_SIMD", f"must be {', '.join(SIMD[:-1])} or {SIMD[-1]}", wish)
    if module is None or wish == "auto":
        return
    present = module.targets()
    if wish not in present:
        refuse(HidivError, "HIDIV_SIMD", f"this processor or this install runs {' and '.join(present)}", wish)
    module.set_target(wish)


_module, _words = chosen(os.environ.get("HIDIV_KERNELS") or "auto")
use_simd(os.environ.get("HIDIV_SIMD") or "auto", _module)


def kernel(twin: Function) -> Function:
    """The compiled kernel of the twin's name where compiled ones are chosen, else the twin; for use as a decorator."""
    twins[twin.__name__] = twin
    return twin if _module is None else cast(Function, getattr(_module, twin.__name__))


def ranged_kernel(twin: Function) -> Function:
    """`kernel` for a compiled function that returns None where numbers are out of its range: its twin then answers."""
    compiled = kernel(twin)
    if compiled is twin:
        return twin

    @wraps(twin)
    def either(*arguments: Any, **options: Any) -> Any:
        result = compiled(*arguments, **options)
        return twin(*arguments, **options) if result is None else result

    return cast(Function, either)


def instruction_set() -> str | None:
    """The one that the compiled kernels run on; None where the twins run."""
    return None if _module is None else str(_module.target())


def are_compiled() -> bool:
    """Whether compiled kernels run."""
    return _module is not None


def description() -> str:
    """'compiled, avx512', or 'python' and why."""
    return _words if _module is None else f"{_words}, {_module.target()}"
