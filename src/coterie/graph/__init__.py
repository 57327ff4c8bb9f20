"""The graph core: from rows to clusters by a graph of nearest neighbours.

The files are the steps, in this order:

- `compare`: scale the views and choose a metric, so that Euclidean distance is the distance that is meant;
- `neighbours`: find the nearest neighbours of each row;
- `weights`: weigh the edges by how near a neighbour is;
- `views`: join the graphs of several views, and fill in views that a row lacks;
- `candidates`: propose partitions: communities merged to k clusters, and spectral clustering;
- `quality`: modularity, normalised cut and block information of a partition;
- `choose`: take the candidate of highest normalised block information;
- `levels`: the merge tree, which holds a partition for every number of clusters;
- `resampling`: partitions of graphs with resampled edges;
- `confidence`: how often a row stays in its cluster when the graph is resampled;
- `model`: all of it in one pass, and labels for new rows.
"""
