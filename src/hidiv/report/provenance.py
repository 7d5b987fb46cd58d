"""The versions a page was made with."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """The version of each library, and which kernels ran."""
    from hidiv import __version__
    from hidiv.recursions.kernels import description

    return {
        "hidiv": __version__,
        "kernels": description(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "Python": platform.python_version(),
    }
