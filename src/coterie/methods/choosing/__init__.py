"""Choosing a method and a number of clusters from the rows alone."""
