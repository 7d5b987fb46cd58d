"""Bounds by convexity on a grid of filters, for any number of states.

- beliefs.py: the grid, and the three recursions on it: spread (above), tangents and chances (below)
- grid_rates.py: entropies and cross-entropies a step of endless chains
- grid_chains.py: those of chains of N symbols
"""
