"""Clustering by a graph of nearest neighbours."""

from coterie.methods.graph_clustering.estimator import GraphClustering
from coterie.methods.graph_clustering.ready_graph import GraphClusters, cluster_graph

__all__ = ["GraphClustering", "GraphClusters", "cluster_graph"]
