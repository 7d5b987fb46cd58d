"""Bounds by the last symbols, whatever came before them: best where the filter soon forgets.

- context_rates.py: entropies and cross-entropies a step of endless chains
- context_chains.py: those of chains of N symbols
"""
