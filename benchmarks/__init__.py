"""Speed as ratios: every row times two ways of doing the same work, interleaved in one run."""
