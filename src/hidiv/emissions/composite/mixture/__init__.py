"""Mixtures of families.

mixture.py       the family
marked.py        the mixture together with its component: what joint divergences compare, in closed form
ratios.py        log-ratios from those of paired components
integrals.py     KL and Renyi divergences of one column, by sums and integrals
bounds.py        certified bounds on the KL of any number of columns, and a Monte Carlo estimate
partly_known.py  missing values, intervals and sets of symbols
estimation.py    weights and components from weighted observations
"""
