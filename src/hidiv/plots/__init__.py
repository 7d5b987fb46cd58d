"""Pictures of results: every function takes what was computed, draws it on matplotlib axes and returns them."""

from __future__ import annotations

from hidiv.plots.bars import parts as parts
from hidiv.plots.heat_maps import differences as differences
from hidiv.plots.influences import influence as influence
from hidiv.plots.lengths import over_length as over_length
from hidiv.plots.matrices import pairwise as pairwise
from hidiv.plots.profiles import profile as profile
from hidiv.plots.trials import convergence as convergence

__all__ = ["convergence", "differences", "influence", "over_length", "pairwise", "parts", "profile"]
