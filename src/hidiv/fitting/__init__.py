"""Models from evidence: expectation and maximisation on chains and trees, starts, model choice, bootstrap."""
