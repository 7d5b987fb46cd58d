"""Filters of two states in their log-odds: polynomials, with bounds that hold between the points.

- filter.py: the filter after a symbol, and intervals of log-odds that no symbol leaves
- chebyshev.py: Chebyshev series, and what samples of them prove
- operator.py: one step of the pair (state of p, filter of q), with the error of every evaluation
- number_rules.py: expectations over one number or count, with a proven error
"""
