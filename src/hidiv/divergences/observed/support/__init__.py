"""What p can show and q cannot, decided in booleans so that no underflow is taken for a zero.

- symbols.py: words of chains and configurations of trees, for finite alphabets
- any_family.py: any families, by what their states can show; the reason in words; log-densities, also of observations
  outside a sample space
- finiteness.py: whether a divergence is finite for certain
"""
