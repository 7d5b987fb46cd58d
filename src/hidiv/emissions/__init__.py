"""Laws of an observation given the hidden state.

family.py        the protocol `Family`: what a family writes, and what it is given (alphabet, start of a fit, ...)
registry.py      one line a family; how two families compare (`FamilyPair`); guards against NaN
sample_space.py  what a column holds: symbols, counts, numbers, angles
parameters.py    parameters read and checked once
statistics.py    mean statistics and natural parameters, for many pairs at once
weighted.py      observations with weights: what parameters are estimated from
gradients.py     derivatives of log-weights in the parameters; full_gradients.py those of full covariances
shifted.py       counts that start at a shift: the methods of a family moved, and pairs of different shifts
product_integrals.py  integrals of products of powers of two laws, for kernels of models
dicts.py         families as dicts, for files
tabular.py       families as tables, for pictures and pages

families/        one file a family, with its pairs
composite/       families made of families: `product.py`, `mixture/`
evidence/        two laws and what is known of an observation: values, intervals, sets of symbols
numerics/        special functions, tails, integrals and climbing; nothing in there knows a family

Imports point one way: parameters, sample_space, statistics, weighted, registry, numerics < gradients < family <
evidence, shifted < families < composite.
"""
