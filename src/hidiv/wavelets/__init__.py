"""Images and signals as hidden Markov trees of wavelet coefficients.

`discrete` and `dual_tree` compute the coefficients, `fit_bands` fits models tied by scale and orientation, `pairwise`
compares many of them, and `average_retrieval` says how well a matrix of divergences finds images of the same kind.

bands: `Bands`, the coefficients by scale and orientation; reading, extending and cropping of values.
discrete: `discrete`, the real wavelet transform of PyWavelets.
dual_tree: `dual_tree`, a complex wavelet transform made of two real ones with filters half a sample apart.
coefficient_trees: `coefficient_trees`, the coefficients as the nodes of trees.
wavelet_model: `WaveletModel` and `fit_bands`; the emission families of a coefficient, and where their fit starts.
wavelet_pairs: `pairwise`, divergences of all pairs of models.
retrieval_rate: `average_retrieval`.
"""

from __future__ import annotations

from hidiv.wavelets.bands import Bands as Bands
from hidiv.wavelets.coefficient_trees import coefficient_trees as coefficient_trees
from hidiv.wavelets.discrete import discrete as discrete
from hidiv.wavelets.dual_tree import dual_tree as dual_tree
from hidiv.wavelets.retrieval_rate import average_retrieval as average_retrieval
from hidiv.wavelets.wavelet_model import WaveletModel as WaveletModel
from hidiv.wavelets.wavelet_model import fit_bands as fit_bands
from hidiv.wavelets.wavelet_pairs import pairwise as pairwise

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
