"""Exact divergences: every word or configuration of a finite alphabet is listed.

- chain_words.py: chains with the same parameters at every node, by conditional divergences of the next symbol
- tree_configurations.py: other trees, by tables of messages
"""
