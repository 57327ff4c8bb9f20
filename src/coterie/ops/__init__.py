"""Pure numerics: distances, k-means, neighbour tables, matching."""
