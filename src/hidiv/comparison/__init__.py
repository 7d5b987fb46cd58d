"""Many models at once: collections, all pairs, nearest models, clusters and maps.

collection/   many models of one shape with their parameters stacked; lists of models sorted by shape
pairwise/     divergences of all pairs: planned as blocks, computed by executors, kept in memory or in a store
neighbours/   the nearest models of a query
clustering/   clusters and maps from a matrix of divergences
late_notes.py notes of a result that are worked out when they are read
"""
