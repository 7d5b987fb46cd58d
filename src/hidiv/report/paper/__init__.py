"""The paper of Perduca and Nuel regenerated from its printed parameters, with a verdict on every printed number.

printed: the parameters and numbers that the paper prints.
experiments: the experiments run again.
verdicts: whether each printed number is reproduced.
claims: what the paper says in words, and what we find.
summary: everything as Markdown, and as lines for a terminal.
paper_files: everything written into a folder, with the figures drawn again.
"""
