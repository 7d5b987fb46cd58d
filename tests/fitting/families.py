"""Two states of every family, far enough apart to be found again."""

from __future__ import annotations

import hidiv as hd

FAMILIES = {
    "categorical": hd.Categorical([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]),
    "bernoulli": hd.Bernoulli([[0.2, 0.5], [0.8, 0.1]]),
    "gaussian": hd.Gaussian([0.0, 4.0], std=[1.0, 2.0]),
    "diagonal": hd.Gaussian([[0.0, 4.0], [2.0, 1.0]], var=[[1.0, 2.0], [0.5, 1.0]]),
    "full": hd.Gaussian([[0.0, 4.0], [2.0, 1.0]], cov=[[[1.0, 0.5], [0.5, 1.0]], [[1.0, -0.2], [-0.2, 0.5]]]),
    "poisson": hd.Poisson([1.0, 6.0]),
    "exponential": hd.Exponential([1.0, 0.1]),
    "gamma": hd.Gamma([2.0, 9.0], [1.0, 1.0]),
    "geometric": hd.Geometric([0.7, 0.1]),
    "binomial": hd.Binomial([12, 12], [0.2, 0.7]),
    "negative_binomial": hd.NegativeBinomial([2.0, 5.0], [0.5, 0.2]),
    "laplace": hd.Laplace([0.0, 5.0], [1.0, 2.0]),
    "log_normal": hd.LogNormal([0.0, 2.0], [0.5, 0.3]),
    "generalized_gaussian": hd.GeneralizedGaussian([1.0, 5.0], [1.0, 1.5]),
    "von_mises": hd.VonMises([0.0, 2.0], [4.0, 10.0]),
    "beta": hd.Beta([2.0, 8.0], [5.0, 2.0]),
    "multinomial": hd.Multinomial([6, 6], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]),
    "silent": hd.Silent(2),
    "product": hd.Product([hd.Gaussian([0.0, 4.0], std=[1.0, 2.0]), hd.Poisson([1.0, 6.0])]),
    "mixture": hd.Mixture(
        [[0.3, 0.7], [0.6, 0.4]],
        [hd.Gaussian([0.0, 4.0], std=[1.0, 2.0]), hd.Gaussian([-4.0, 9.0], std=[0.5, 1.0])],
    ),
}
