"""The nearest models of a query.

nearest.py       nearest: exact search, block by block, or with an index
faiss_index.py   faiss_index: candidates by inner product
"""
