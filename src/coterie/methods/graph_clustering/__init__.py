"""Clustering by a graph of nearest neighbours."""

from coterie.methods.graph_clustering.estimator import GraphClustering

__all__ = ["GraphClustering"]
