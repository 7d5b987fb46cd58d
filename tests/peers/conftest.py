"""Which peers there are: no mixle for Python 3.13 and newer (pyproject.toml); any other that is missing is an error."""

from __future__ import annotations

import sys

collect_ignore = ["test_mixle.py"] if sys.version_info >= (3, 13) else []
