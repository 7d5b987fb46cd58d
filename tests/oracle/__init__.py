"""Slow, obvious twins of every quantity: plain loops in 50-digit arithmetic, importing nothing of hidiv.

Models are dicts in the form of a model file, trees {"chain": N}, {"regular": {"children": C, "depth": N}} or
{"parent": [...], "group": [...]}, evidence the list form; values come back as mpmath numbers.
"""
