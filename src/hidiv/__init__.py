"""How far apart are two hidden Markov models? Joint, posterior and observed Kullback-Leibler divergences."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing itself costs more to import than all of this file
if TYPE_CHECKING:
    from typing import Any

    from hidiv import plots as plots
    from hidiv import wavelets as wavelets
    from hidiv.adapters.as_model import as_model as as_model
    from hidiv.adapters.hmmlearn import to_hmmlearn as to_hmmlearn
    from hidiv.adapters.smoothed import smoothed as smoothed
    from hidiv.comparison.cluster import Clusters as Clusters
    from hidiv.comparison.cluster import cluster as cluster
    from hidiv.comparison.collection import Collection as Collection
    from hidiv.comparison.embed import embed as embed
    from hidiv.comparison.faiss_index import faiss_index as faiss_index
    from hidiv.comparison.matrix import PairwiseMatrix as PairwiseMatrix
    from hidiv.comparison.nearest import Nearest as Nearest
    from hidiv.comparison.nearest import nearest as nearest
    from hidiv.comparison.pairwise import pairwise_kl as pairwise_kl
    from hidiv.divergences.align import Alignment as Alignment
    from hidiv.divergences.align import align as align
    from hidiv.divergences.compare import compare as compare
    from hidiv.divergences.compared import Comparison as Comparison
    from hidiv.divergences.do_bound import do_bound as do_bound
    from hidiv.divergences.inward import inward as inward
    from hidiv.divergences.joint import joint_kl as joint_kl
    from hidiv.divergences.joint import joint_kl_rate as joint_kl_rate
    from hidiv.divergences.montecarlo import montecarlo as montecarlo
    from hidiv.divergences.observed.kl import observed_kl as observed_kl
    from hidiv.divergences.observed.rate import observed_kl_rate as observed_kl_rate
    from hidiv.divergences.posterior import posterior_kl as posterior_kl
    from hidiv.divergences.posterior_batch import posterior_kl_batch as posterior_kl_batch
    from hidiv.divergences.renyi import joint_renyi as joint_renyi
    from hidiv.divergences.result import Divergence as Divergence
    from hidiv.divergences.tell_apart import SamplesNeeded as SamplesNeeded
    from hidiv.divergences.tell_apart import samples_to_tell_apart as samples_to_tell_apart
    from hidiv.emissions.bernoulli import Bernoulli as Bernoulli
    from hidiv.emissions.beta import Beta as Beta
    from hidiv.emissions.binomial import Binomial as Binomial
    from hidiv.emissions.categorical import Categorical as Categorical
    from hidiv.emissions.exponential import Exponential as Exponential
    from hidiv.emissions.gamma import Gamma as Gamma
    from hidiv.emissions.gaussian import Gaussian as Gaussian
    from hidiv.emissions.generalized_gaussian import GeneralizedGaussian as GeneralizedGaussian
    from hidiv.emissions.geometric import Geometric as Geometric
    from hidiv.emissions.laplace import Laplace as Laplace
    from hidiv.emissions.log_normal import LogNormal as LogNormal
    from hidiv.emissions.mixture import Mixture as Mixture
    from hidiv.emissions.multinomial import Multinomial as Multinomial
    from hidiv.emissions.negative_binomial import NegativeBinomial as NegativeBinomial
    from hidiv.emissions.poisson import Poisson as Poisson
    from hidiv.emissions.product import Product as Product
    from hidiv.emissions.silent import Silent as Silent
    from hidiv.emissions.von_mises import VonMises as VonMises
    from hidiv.errors import HidivError as HidivError
    from hidiv.files.reading import load as load
    from hidiv.files.writing import save as save
    from hidiv.fitting.bootstrap import BootstrapResult as BootstrapResult
    from hidiv.fitting.bootstrap import bootstrap_divergence as bootstrap_divergence
    from hidiv.fitting.fit import fit as fit
    from hidiv.fitting.result import FitResult as FitResult
    from hidiv.fitting.selection import Choice as Choice
    from hidiv.fitting.selection import choose as choose
    from hidiv.inference.decoding import viterbi as viterbi
    from hidiv.inference.influence import influence as influence
    from hidiv.inference.likelihood import log_likelihood as log_likelihood
    from hidiv.inference.sampling import sample as sample
    from hidiv.inference.sampling import sample_posterior as sample_posterior
    from hidiv.inference.smoothing import Smoothed as Smoothed
    from hidiv.inference.smoothing import entropy_profile as entropy_profile
    from hidiv.inference.smoothing import smooth as smooth
    from hidiv.models.evidence import Evidence as Evidence
    from hidiv.models.model import Model as Model
    from hidiv.models.tree import Tree as Tree
    from hidiv.models.until_end import UNTIL_END as UNTIL_END

__version__ = "0.1.0"

# Public name -> module; imported when first asked for (PEP 562), so that `import hidiv` costs next to nothing.
_HOMES = {
    "Alignment": "divergences.align",
    "Bernoulli": "emissions.bernoulli",
    "Beta": "emissions.beta",
    "Binomial": "emissions.binomial",
    "BootstrapResult": "fitting.bootstrap",
    "Categorical": "emissions.categorical",
    "Clusters": "comparison.cluster",
    "Choice": "fitting.selection",
    "Collection": "comparison.collection",
    "Comparison": "divergences.compared",
    "Divergence": "divergences.result",
    "Evidence": "models.evidence",
    "Exponential": "emissions.exponential",
    "FitResult": "fitting.result",
    "Gamma": "emissions.gamma",
    "Gaussian": "emissions.gaussian",
    "GeneralizedGaussian": "emissions.generalized_gaussian",
    "Geometric": "emissions.geometric",
    "HidivError": "errors",
    "Laplace": "emissions.laplace",
    "LogNormal": "emissions.log_normal",
    "Mixture": "emissions.mixture",
    "Model": "models.model",
    "Nearest": "comparison.nearest",
    "Multinomial": "emissions.multinomial",
    "NegativeBinomial": "emissions.negative_binomial",
    "PairwiseMatrix": "comparison.matrix",
    "Poisson": "emissions.poisson",
    "Product": "emissions.product",
    "SamplesNeeded": "divergences.tell_apart",
    "Silent": "emissions.silent",
    "Smoothed": "inference.smoothing",
    "Tree": "models.tree",
    "UNTIL_END": "models.until_end",
    "VonMises": "emissions.von_mises",
    "align": "divergences.align",
    "as_model": "adapters.as_model",
    "cluster": "comparison.cluster",
    "compare": "divergences.compare",
    "bootstrap_divergence": "fitting.bootstrap",
    "choose": "fitting.selection",
    "do_bound": "divergences.do_bound",
    "embed": "comparison.embed",
    "entropy_profile": "inference.smoothing",
    "errors": "errors",
    "faiss_index": "comparison.faiss_index",
    "fit": "fitting.fit",
    "influence": "inference.influence",
    "inward": "divergences.inward",
    "joint_kl": "divergences.joint",
    "joint_kl_rate": "divergences.joint",
    "joint_renyi": "divergences.renyi",
    "load": "files.reading",
    "log_likelihood": "inference.likelihood",
    "montecarlo": "divergences.montecarlo",
    "nearest": "comparison.nearest",
    "observed_kl": "divergences.observed.kl",
    "observed_kl_rate": "divergences.observed.rate",
    "pairwise_kl": "comparison.pairwise",
    "plots": "plots",
    "posterior_kl": "divergences.posterior",
    "posterior_kl_batch": "divergences.posterior_batch",
    "sample": "inference.sampling",
    "sample_posterior": "inference.sampling",
    "samples_to_tell_apart": "divergences.tell_apart",
    "save": "files.writing",
    "smooth": "inference.smoothing",
    "smoothed": "adapters.smoothed",
    "to_hmmlearn": "adapters.hmmlearn",
    "viterbi": "inference.decoding",
    "wavelets": "wavelets",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hidiv' has no attribute {name!r}")
    module = import_module(f"hidiv.{_HOMES[name]}")
    value = module if name == _HOMES[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
