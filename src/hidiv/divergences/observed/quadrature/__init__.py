"""Expectations over one observation as sums over points.

- panels.py: points and weights for one continuous number
- observation_points.py: the points of any two families of symbols, counts or numbers
- two_state_chains.py: observed divergences and rates of two-state chains without draws
- two_state_trees.py: observed divergences of small two-state trees without draws
"""
