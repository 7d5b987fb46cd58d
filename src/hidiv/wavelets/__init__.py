"""Images and signals as hidden Markov trees of wavelet coefficients.

Bands of coefficients (`discrete`, `dual_tree`), their trees (`quad_trees`), a model tied by scale and orientation
(`fit_bands`), divergences of many of them (`pairwise`) and how well they find their own kind (`average_retrieval`).
"""

from __future__ import annotations

from hidiv.wavelets.bands import Bands as Bands
from hidiv.wavelets.comparing import pairwise as pairwise
from hidiv.wavelets.discrete import discrete as discrete
from hidiv.wavelets.dual_tree import dual_tree as dual_tree
from hidiv.wavelets.fitting import WaveletModel as WaveletModel
from hidiv.wavelets.fitting import fit_bands as fit_bands
from hidiv.wavelets.retrieval import average_retrieval as average_retrieval
from hidiv.wavelets.trees import coefficient_trees as coefficient_trees

__all__ = [
    "Bands",
    "WaveletModel",
    "average_retrieval",
    "coefficient_trees",
    "discrete",
    "dual_tree",
    "fit_bands",
    "pairwise",
]
