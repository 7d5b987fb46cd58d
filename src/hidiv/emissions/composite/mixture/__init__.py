"""Mixtures of families.

law.py           what a mixture is: weights, components, densities, draws
mixture.py       the family `Mixture`: how it is fitted, and how two of them compare
marked.py        the mixture together with its component: what joint divergences compare, in closed form
ratios.py        log-ratios of values seen and of what is partly known, from those of paired components
crowded.py       integrals of laws crowded at an end of their sample space, over logarithms
anchored.py      laws narrow beside their distance from 0, moved there for their integrals
integrals.py     KL and Renyi divergences of one column, by sums and integrals
bounds.py        certified bounds on the KL of any number of columns, and a Monte Carlo estimate

Imports point one way: law < marked < ratios < crowded < anchored < integrals < bounds < mixture.
"""
