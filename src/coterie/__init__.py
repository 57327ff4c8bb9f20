"""Find the groups in large, messy data and show why."""

__version__ = "0.1.0.dev0"
