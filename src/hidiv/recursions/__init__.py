"""Arrays only: the numpy specification of each recursion, and the choice of the compiled one."""
