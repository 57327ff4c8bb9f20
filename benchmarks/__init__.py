"""Measurements of coterie: accuracy, speed and memory, one command each; results are kept as JSON."""
