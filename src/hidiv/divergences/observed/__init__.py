"""The divergence of the observations alone: exact, certified, or estimated (definitions, section 5)."""
