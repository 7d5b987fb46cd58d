"""One model and what is known: likelihood, smoothing, most probable states, samples, influence."""
