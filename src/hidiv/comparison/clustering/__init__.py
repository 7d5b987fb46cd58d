"""Clusters and maps of models from a matrix of divergences.

cluster.py   cluster: linkage or k-medoids, and silhouettes
embed.py     embed: classical scaling
"""
