"""Questions about models answered in words, with a test or a bound: same or different, how many states, which is which."""
