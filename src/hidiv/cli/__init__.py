"""The command line: one command a file, imported when it is run."""
