"""One training loop in small steps, its callbacks, checkpoints and collectives."""
