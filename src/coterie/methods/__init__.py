"""The clustering methods, one folder each."""
