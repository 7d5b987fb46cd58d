"""Functions of numbers that the families share; nothing in there knows a family.

adaptive_integrals.py       integrals and sums on panels that are halved until they agree
climbing.py                 safeguarded Newton steps for many small maximisations at once
tails.py                    log-masses of intervals from log tails
stirling.py                 log Gamma and its derivatives by remainders, accurate in small steps
deviance.py                 x log(x/y) - x + y, and what is built from it
scales.py                   two positive scales compared
bits.py                     one trial with two outcomes
bessel.py                   I_0 and the mean cosine
standard_normal.py          density and masses of the normal law
covariances.py              normal laws with full covariances
gaussian_moments.py         weighted estimates of normal laws, with missing and censored values
exponential_family.py       divergences from a log-normaliser
exponential_power.py        laws exp(-|x/scale|^shape), about one centre in closed form, about two by integrals
binomial_trials.py          binomial laws of unlike numbers of trials
negative_binomial_sizes.py  negative binomial laws of unlike sizes
"""
