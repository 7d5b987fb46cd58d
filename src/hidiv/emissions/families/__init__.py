"""One file a family: its parameters, formulas, sample space, start of a fit, and the pairs in which it is compared.

Symbols: categorical, bernoulli. Counts: poisson, geometric, binomial, negative_binomial, multinomial (rows of counts).
Positive numbers: exponential, gamma, log_normal. Proportions: beta. Numbers: gaussian, laplace, generalized_gaussian.
Angles: von_mises. Nothing: silent.
"""
