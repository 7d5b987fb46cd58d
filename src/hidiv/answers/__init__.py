"""Questions about models answered in words, with a test or a bound: same or not, how many states, which is which."""
