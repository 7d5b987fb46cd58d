"""Pages and summaries: what was computed, in words, tables and pictures for people to read."""
