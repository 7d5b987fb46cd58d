"""The quantities: what is compared, what the number means, what infinity says."""
