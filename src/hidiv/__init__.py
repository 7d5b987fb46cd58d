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
    from hidiv.answers.agreement import Agreement as Agreement
    from hidiv.answers.agreement import agreement as agreement
    from hidiv.answers.differ import differ as differ
    from hidiv.answers.difference import Difference as Difference
    from hidiv.answers.difference import GroupPair as GroupPair
    from hidiv.answers.fit_many import FittedCollection as FittedCollection
    from hidiv.answers.fit_many import fit_many as fit_many
    from hidiv.answers.matching import Matching as Matching
    from hidiv.answers.matching import match as match
    from hidiv.answers.reduction import Reduction as Reduction
    from hidiv.answers.reduction import reduce as reduce
    from hidiv.comparison.clustering.cluster import Clusters as Clusters
    from hidiv.comparison.clustering.cluster import cluster as cluster
    from hidiv.comparison.clustering.embed import embed as embed
    from hidiv.comparison.collection.collection import Collection as Collection
    from hidiv.comparison.neighbours.faiss_index import faiss_index as faiss_index
    from hidiv.comparison.neighbours.nearest import Nearest as Nearest
    from hidiv.comparison.neighbours.nearest import nearest as nearest
    from hidiv.comparison.pairwise.kl import pairwise_kl as pairwise_kl
    from hidiv.comparison.pairwise.matrix import PairwiseMatrix as PairwiseMatrix
    from hidiv.comparison.pairwise.pairwise import pairwise as pairwise
    from hidiv.divergences.alignment.align import Alignment as Alignment
    from hidiv.divergences.alignment.align import align as align
    from hidiv.divergences.compare import compare as compare
    from hidiv.divergences.comparison import Comparison as Comparison
    from hidiv.divergences.equivalence.equivalent import Equivalence as Equivalence
    from hidiv.divergences.equivalence.equivalent import equivalent as equivalent
    from hidiv.divergences.equivalence.minimal import Minimal as Minimal
    from hidiv.divergences.equivalence.minimal import minimal as minimal
    from hidiv.divergences.equivalence.minimal import order as order
    from hidiv.divergences.joint.do_bound import do_bound as do_bound
    from hidiv.divergences.joint.inward_quantities import inward as inward
    from hidiv.divergences.joint.kl import joint_kl as joint_kl
    from hidiv.divergences.joint.kl import joint_kl_rate as joint_kl_rate
    from hidiv.divergences.joint.renyi import joint_renyi as joint_renyi
    from hidiv.divergences.measures.aggregated_wasserstein import aggregated_wasserstein as aggregated_wasserstein
    from hidiv.divergences.measures.bhattacharyya import bayes_error as bayes_error
    from hidiv.divergences.measures.bhattacharyya import bhattacharyya as bhattacharyya
    from hidiv.divergences.measures.bhattacharyya import hellinger as hellinger
    from hidiv.divergences.measures.bhattacharyya import total_variation as total_variation
    from hidiv.divergences.measures.jensen_shannon import jensen_shannon as jensen_shannon
    from hidiv.divergences.measures.measure import Measure as Measure
    from hidiv.divergences.measures.product_kernel import coemission as coemission
    from hidiv.divergences.measures.product_kernel import product_kernel as product_kernel
    from hidiv.divergences.measures.sahraeian_yoon import sahraeian_yoon as sahraeian_yoon
    from hidiv.divergences.montecarlo import montecarlo as montecarlo
    from hidiv.divergences.observed.kl import observed_kl as observed_kl
    from hidiv.divergences.observed.rate import observed_kl_rate as observed_kl_rate
    from hidiv.divergences.posterior.batch import posterior_kl_batch as posterior_kl_batch
    from hidiv.divergences.posterior.kl import posterior_kl as posterior_kl
    from hidiv.divergences.result import Divergence as Divergence
    from hidiv.divergences.telling_apart.tell_apart import SamplesNeeded as SamplesNeeded
    from hidiv.divergences.telling_apart.tell_apart import samples_to_tell_apart as samples_to_tell_apart
    from hidiv.emissions.composite.mixture.mixture import Mixture as Mixture
    from hidiv.emissions.composite.product import Product as Product
    from hidiv.emissions.families.bernoulli import Bernoulli as Bernoulli
    from hidiv.emissions.families.beta import Beta as Beta
    from hidiv.emissions.families.binomial import Binomial as Binomial
    from hidiv.emissions.families.categorical import Categorical as Categorical
    from hidiv.emissions.families.exponential import Exponential as Exponential
    from hidiv.emissions.families.gamma import Gamma as Gamma
    from hidiv.emissions.families.gaussian import Gaussian as Gaussian
    from hidiv.emissions.families.generalized_gaussian import GeneralizedGaussian as GeneralizedGaussian
    from hidiv.emissions.families.geometric import Geometric as Geometric
    from hidiv.emissions.families.laplace import Laplace as Laplace
    from hidiv.emissions.families.log_normal import LogNormal as LogNormal
    from hidiv.emissions.families.multinomial import Multinomial as Multinomial
    from hidiv.emissions.families.negative_binomial import NegativeBinomial as NegativeBinomial
    from hidiv.emissions.families.poisson import Poisson as Poisson
    from hidiv.emissions.families.silent import Silent as Silent
    from hidiv.emissions.families.von_mises import VonMises as VonMises
    from hidiv.errors import HidivError as HidivError
    from hidiv.files.conllu import read_conllu as read_conllu
    from hidiv.files.loading import load as load
    from hidiv.files.saving import save as save
    from hidiv.fitting.bootstrap import BootstrapResult as BootstrapResult
    from hidiv.fitting.bootstrap import bootstrap_divergence as bootstrap_divergence
    from hidiv.fitting.divergence_interval import DivergenceInterval as DivergenceInterval
    from hidiv.fitting.divergence_interval import divergence_interval as divergence_interval
    from hidiv.fitting.fit import fit as fit
    from hidiv.fitting.fit_result import FitResult as FitResult
    from hidiv.fitting.parameter_errors import StandardErrors as StandardErrors
    from hidiv.fitting.parameter_errors import standard_errors as standard_errors
    from hidiv.fitting.selection import Choice as Choice
    from hidiv.fitting.selection import choose as choose
    from hidiv.inference.decoding import viterbi as viterbi
    from hidiv.inference.influence import influence as influence
    from hidiv.inference.likelihood import log_likelihood as log_likelihood
    from hidiv.inference.sampling import sample as sample
    from hidiv.inference.sampling import sample_posterior as sample_posterior
    from hidiv.inference.score import Score as Score
    from hidiv.inference.score import score as score
    from hidiv.inference.smoothing import Smoothed as Smoothed
    from hidiv.inference.smoothing import entropy_profile as entropy_profile
    from hidiv.inference.smoothing import smooth as smooth
    from hidiv.models.evidence import Evidence as Evidence
    from hidiv.models.model import Model as Model
    from hidiv.models.tree import Tree as Tree
    from hidiv.models.until_end import UNTIL_END as UNTIL_END

__version__ = "0.2.0.dev0"

# Public name -> module, imported at first use (PEP 562), so that `import hidiv` takes almost no time.
_HOMES = {
    "Agreement": "answers.agreement",
    "Alignment": "divergences.alignment.align",
    "Bernoulli": "emissions.families.bernoulli",
    "Beta": "emissions.families.beta",
    "Binomial": "emissions.families.binomial",
    "BootstrapResult": "fitting.bootstrap",
    "Categorical": "emissions.families.categorical",
    "Clusters": "comparison.clustering.cluster",
    "Choice": "fitting.selection",
    "Collection": "comparison.collection.collection",
    "Comparison": "divergences.comparison",
    "Difference": "answers.difference",
    "Divergence": "divergences.result",
    "Equivalence": "divergences.equivalence.equivalent",
    "DivergenceInterval": "fitting.divergence_interval",
    "Evidence": "models.evidence",
    "Exponential": "emissions.families.exponential",
    "FitResult": "fitting.fit_result",
    "FittedCollection": "answers.fit_many",
    "Gamma": "emissions.families.gamma",
    "Gaussian": "emissions.families.gaussian",
    "GeneralizedGaussian": "emissions.families.generalized_gaussian",
    "Geometric": "emissions.families.geometric",
    "GroupPair": "answers.difference",
    "HidivError": "errors",
    "Laplace": "emissions.families.laplace",
    "LogNormal": "emissions.families.log_normal",
    "Matching": "answers.matching",
    "Minimal": "divergences.equivalence.minimal",
    "Mixture": "emissions.composite.mixture.mixture",
    "Model": "models.model",
    "Nearest": "comparison.neighbours.nearest",
    "Multinomial": "emissions.families.multinomial",
    "NegativeBinomial": "emissions.families.negative_binomial",
    "PairwiseMatrix": "comparison.pairwise.matrix",
    "Poisson": "emissions.families.poisson",
    "Product": "emissions.composite.product",
    "Reduction": "answers.reduction",
    "SamplesNeeded": "divergences.telling_apart.tell_apart",
    "Score": "inference.score",
    "Silent": "emissions.families.silent",
    "Smoothed": "inference.smoothing",
    "StandardErrors": "fitting.parameter_errors",
    "Tree": "models.tree",
    "UNTIL_END": "models.until_end",
    "VonMises": "emissions.families.von_mises",
    "agreement": "answers.agreement",
    "Measure": "divergences.measures.measure",
    "aggregated_wasserstein": "divergences.measures.aggregated_wasserstein",
    "bayes_error": "divergences.measures.bhattacharyya",
    "bhattacharyya": "divergences.measures.bhattacharyya",
    "coemission": "divergences.measures.product_kernel",
    "hellinger": "divergences.measures.bhattacharyya",
    "jensen_shannon": "divergences.measures.jensen_shannon",
    "product_kernel": "divergences.measures.product_kernel",
    "sahraeian_yoon": "divergences.measures.sahraeian_yoon",
    "total_variation": "divergences.measures.bhattacharyya",
    "align": "divergences.alignment.align",
    "as_model": "adapters.as_model",
    "cluster": "comparison.clustering.cluster",
    "compare": "divergences.compare",
    "bootstrap_divergence": "fitting.bootstrap",
    "choose": "fitting.selection",
    "differ": "answers.differ",
    "divergence_interval": "fitting.divergence_interval",
    "do_bound": "divergences.joint.do_bound",
    "embed": "comparison.clustering.embed",
    "entropy_profile": "inference.smoothing",
    "equivalent": "divergences.equivalence.equivalent",
    "errors": "errors",
    "faiss_index": "comparison.neighbours.faiss_index",
    "fit": "fitting.fit",
    "fit_many": "answers.fit_many",
    "influence": "inference.influence",
    "inward": "divergences.joint.inward_quantities",
    "joint_kl": "divergences.joint.kl",
    "joint_kl_rate": "divergences.joint.kl",
    "joint_renyi": "divergences.joint.renyi",
    "load": "files.loading",
    "log_likelihood": "inference.likelihood",
    "match": "answers.matching",
    "minimal": "divergences.equivalence.minimal",
    "montecarlo": "divergences.montecarlo",
    "nearest": "comparison.neighbours.nearest",
    "observed_kl": "divergences.observed.kl",
    "observed_kl_rate": "divergences.observed.rate",
    "order": "divergences.equivalence.minimal",
    "pairwise": "comparison.pairwise.pairwise",
    "pairwise_kl": "comparison.pairwise.kl",
    "plots": "plots",
    "posterior_kl": "divergences.posterior.kl",
    "posterior_kl_batch": "divergences.posterior.batch",
    "reduce": "answers.reduction",
    "read_conllu": "files.conllu",
    "sample": "inference.sampling",
    "sample_posterior": "inference.sampling",
    "score": "inference.score",
    "samples_to_tell_apart": "divergences.telling_apart.tell_apart",
    "save": "files.saving",
    "smooth": "inference.smoothing",
    "smoothed": "adapters.smoothed",
    "to_hmmlearn": "adapters.hmmlearn",
    "standard_errors": "fitting.parameter_errors",
    "viterbi": "inference.decoding",
    "wavelets": "wavelets",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        return _family(name)
    module = import_module(f"hidiv.{_HOMES[name]}")
    value = module if name == _HOMES[name] else getattr(module, name)
    globals()[name] = value
    return value


def _family(name: str) -> Any:
    """A family that is registered but not listed here, by the name of its class."""
    if name[:1].isupper():
        from hidiv.emissions.registry import FAMILIES, family_class

        for family, home in FAMILIES.items():
            if home.endswith(f":{name}"):
                return family_class(family)
    raise AttributeError(f"module 'hidiv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
