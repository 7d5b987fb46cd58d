"""Laws of an observation given the hidden state: one family a file, pairs of families in a registry."""
