"""The paper of Perduca and Nuel regenerated from its printed parameters, every printed number with a verdict."""
