"""Clustering of AnnData and MuData objects in scanpy's manner: results are written into the object."""

# n cells, k clusters

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.data.describe.cells import CellRows
from coterie.data.describe.modalities import ModalityRows
from coterie.data.readers.cells import keys_of
from coterie.data.subsets import some_rows
from coterie.errors import InputError
from coterie.explore.projection import project
from coterie.methods.graph_clustering import GraphClustering, cluster_graph

__all__ = ["cluster"]

_MAP_ROWS = 5000
_MAP_NEIGHBORS = 5
_MOST_LEVELS = 30


def cluster(
    adata: Any,
    n_clusters: int | str = "auto",
    *,
    use_rep: str | None = None,
    layer: str | None = None,
    use_connectivities: bool | str = False,
    key_added: str = "coterie",
    draw_map: bool = True,
    random_state: int = 0,
    copy: bool = False,
    **params: Any,
) -> Any:
    """Cluster the cells of an AnnData or MuData object, and write the result into it.

    Parameters
    ----------
    adata : AnnData or MuData
        In memory or backed by a file; the matrix is only read. Modalities of a MuData are views; a cell that is not
        in a modality lacks that view.
    n_clusters : int or "auto"
        "auto" estimates it.
    use_rep : str, optional
        The key of ``obsm`` to compare cells by, or ``"X"``. By default ``"X_pca"`` where there is one. Otherwise the
        matrix is prepared as `coterie.data.CellRows` says: raw counts are normalised by library size, their log1p
        is taken, and wide ones are projected to 50 principal axes.
    layer : str, optional
        The key of ``layers`` to take instead of ``X``.
    use_connectivities : bool or str
        Take the graph in ``obsp["connectivities"]`` (scanpy's ``pp.neighbors``), or under another key, as it is.
    key_added : str
        Under which name the result is written.
    draw_map : bool
        Whether to lay the cells out in the plane. Of more than 5,000 cells a sample is laid out by t-SNE, and the
        others are put between their five nearest cells of the sample.
    random_state : int
    copy : bool
        Return a copy with the result instead of writing into `adata`.
    **params
        Other parameters of `coterie.GraphClustering` (`scale` is "none" for components and counts); of
        `coterie.cluster_graph` with `use_connectivities`.

    Returns
    -------
    AnnData, MuData or None
        The copy if there is one, with these entries:

        - ``obs[key_added]``: the cluster, a categorical;
        - ``obs[key_added + "_confidence"]``: how sure it is, from 1/k to 1;
        - ``obsm["X_" + key_added]``: the map, for ``sc.pl.embedding(adata, key_added)``;
        - ``obsm[key_added + "_levels"]``: the clusters with 2, 3, ... of them, a column each;
        - ``uns[key_added]``: parameters, what cells were compared by, stability and size of each cluster.

    Examples
    --------
    >>> import anndata, coterie.tl
    >>> counts = np.random.default_rng(0).poisson(np.repeat([[9, 1], [1, 9]], 30, axis=0).repeat(20, axis=1))
    >>> adata = anndata.AnnData(counts.astype(np.float32))
    >>> coterie.tl.cluster(adata, 2, draw_map=False)
    >>> adata.obs["coterie"].value_counts().tolist()
    [30, 30]
    >>> adata.uns["coterie"]["rows"]
    'raw counts were scaled to the median total of a cell, and log1p taken'
    """
    cells = adata.copy() if copy else adata
    rows = None
    given = {
        "n_clusters": n_clusters,
        "use_rep": use_rep,
        "layer": layer,
        "random_state": random_state,
        **params,
    }
    if use_connectivities:
        key = "connectivities" if use_connectivities is True else use_connectivities
        found = cluster_graph(_graph(cells, key), n_clusters, random_state=random_state, **params)
        labels, confidence, levels, stability = found.labels, found.confidence, found.levels, found.stability
        said = f"the graph in obsp[{key!r}] was taken"
        given["use_connectivities"] = key
    else:
        describe = ModalityRows(use_rep) if hasattr(cells, "mod") else CellRows(use_rep, layer=layer)
        views = describe.fit(cells).views(cells)
        settings = describe.settings | params
        model = GraphClustering(n_clusters, random_state=random_state, **settings).fit(views)
        labels, confidence, levels = model.labels_, model.confidence_, model.levels_
        stability, rows, said = model.cluster_stability_, model.transform(views), describe.sentence
    _write(cells, key_added, labels, confidence)
    if draw_map:
        rows = _rows_of_map(cells, use_rep, layer) if rows is None else rows
        cells.obsm[f"X_{key_added}"] = _layout(rows, random_state)
    numbers = range(2, min(levels.most, _MOST_LEVELS) + 1)
    tables = [levels.labels_at(k).astype(np.int16) for k in numbers]
    cells.obsm[f"{key_added}_levels"] = (
        np.column_stack(tables) if tables else np.zeros((len(labels), 0), np.int16)
    )
    cells.uns[key_added] = {
        "params": {name: value for name, value in given.items() if value is not None},
        "rows": said,
        "sizes": np.bincount(labels[labels >= 0], minlength=len(stability)),
        "stability": stability,
        "levels": np.array(numbers, dtype=np.int64),
    }
    return cells if copy else None


def _graph(cells: Any, key: str) -> Any:
    if key not in cells.obsp:
        raise InputError(
            f"There is no obsp[{key!r}] ({keys_of(cells.obsp, 'obsp')}): call scanpy.pp.neighbors first, or leave "
            "use_connectivities out."
        )
    return cells.obsp[key]


def _write(cells: Any, key: str, labels: np.ndarray, confidence: np.ndarray) -> None:
    """Write labels as scanpy does: categories are the numbers as text, in the order of the numbers."""
    import pandas as pd  # comes with anndata

    names = [str(label) for label in np.unique(labels)]
    cells.obs[key] = pd.Categorical([str(label) for label in labels], categories=names)
    cells.obs[f"{key}_confidence"] = confidence.astype(np.float32)


def _rows_of_map(cells: Any, use_rep: str | None, layer: str | None) -> np.ndarray:
    return CellRows(use_rep, layer=layer).fit(cells).transform(cells)


def _layout(rows: np.ndarray, seed: int) -> np.ndarray:
    """Lay rows out in the plane, those beyond a sample between their nearest in it, (n, 2)."""
    from sklearn.neighbors import NearestNeighbors

    sample = some_rows(len(rows), _MAP_ROWS, seed)
    places = project(rows[sample], random_state=seed).coordinates
    if len(sample) == len(rows):
        return places
    near = NearestNeighbors(n_neighbors=_MAP_NEIGHBORS).fit(rows[sample])
    layout = places[near.kneighbors(rows, return_distance=False)].mean(axis=1)
    layout[sample] = places
    return layout
