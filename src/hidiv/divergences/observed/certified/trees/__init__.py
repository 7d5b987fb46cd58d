"""Bounds on trees whose messages have two states.

- message_grid.py: the law of a message on a grid of log-odds
- regular_trees.py: regular trees level by level, and chains whose parameters differ from node to node
- listed_trees.py: any listed tree, equal subtrees done once
"""
