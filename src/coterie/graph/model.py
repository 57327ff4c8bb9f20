"""The graph core in one pass: compare, graph, partition, label; and labels for new rows."""

# n rows, b rows of a batch, r reference rows, l layers, k clusters

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from coterie.collectives import ALONE, Collectives, share_of
from coterie.data import Views
from coterie.data.subsets import some_rows
from coterie.graph.compare import Comparison, fit_comparison
from coterie.graph.confidence import Calibration, memberships
from coterie.graph.duplicates import first_of_equal, row_hashes
from coterie.graph.neighbours import NeighbourIndex, Neighbours, neighbour_count
from coterie.graph.quality import row_ties
from coterie.graph.views import JoinedGraph, join_layers
from coterie.graph.weights import Kernel, fuzzy_weights
from coterie.ops.array_builder import ArrayBuilder
from coterie.ops.distributed_rows import gathered
from coterie.store import below

MAX_ROWS = 100_000
_CHUNK_BYTES = 16 * 2**20
_REACH = 3
_FARTHEST = 1e9


@dataclass(frozen=True)
class ReferenceRows:
    """The rows that the graph was built on, ready to be searched by new rows.

    Attributes
    ----------
    comparison : Comparison
    joined : JoinedGraph
        Of the different rows of the sample, its nodes.
    nodes : ndarray
        Row numbers of the nodes in the data.
    sample : ndarray
        Row numbers of the sample, ascending.
    groups : ndarray
        The node of each row of the sample.
    hashes : ndarray
        Of the content of the nodes.
    n_neighbors : int
        Of each node in a layer.
    """

    comparison: Comparison
    joined: JoinedGraph
    nodes: np.ndarray
    sample: np.ndarray
    groups: np.ndarray
    hashes: np.ndarray
    n_neighbors: int


def build_graph(
    data: Views,
    *,
    comparison: Comparison | None = None,
    scale: Any = "auto",
    metric: str = "auto",
    n_neighbors: int | None = None,
    max_rows: int = MAX_ROWS,
    by_content: bool = False,
    seed: int,
    collectives: Collectives = ALONE,
) -> ReferenceRows:
    """Compare rows and join their neighbours to one graph; of more than `max_rows` rows a sample is taken.

    Samples, seeds and ties go by the number of a row. By content, rows are numbered in the order of their hashes, so
    that the same rows in another order have the same graph.

    Parameters
    ----------
    data : Views
        Checked.
    comparison : Comparison, optional
        How rows are compared, where that is known; else `fit_comparison` chooses it by `scale` and `metric`.
    scale, metric
    n_neighbors : int, optional
        By default as many as `neighbour_count` says for the rows of the graph.
    max_rows : int
    by_content : bool
        The order of nodes is that of their hashes, not of the rows.
    seed : int
    collectives : Collectives

    Examples
    --------
    >>> from coterie.data import as_views
    >>> rows = np.array([[0.0], [0.1], [0.1], [5.0], [5.2]])
    >>> graph = build_graph(as_views(rows), n_neighbors=1, seed=0)
    >>> graph.nodes, graph.groups
    (array([0, 1, 3, 4]), array([0, 1, 1, 2, 3]))
    """
    n_neighbors = n_neighbors or neighbour_count(min(data.n_rows, max_rows))
    sample, drawn_from = some_rows(data.n_rows, max_rows, seed), data
    if by_content:
        order = content_order(data, collectives)
        sample, drawn_from = np.sort(order[sample]), data.select(order)
    if comparison is None:
        comparison = fit_comparison(
            drawn_from, scale=scale, metric=metric, n_neighbors=n_neighbors, seed=seed
        )
    parts = [comparable(comparison, data, rows) for rows in pieces(sample, data)]
    hashes = np.concatenate([part.hashes for part in parts])
    first, groups = first_of_equal(hashes, by_content=by_content)
    scaled = [np.concatenate([part.scaled[v] for part in parts])[first] for v in range(len(comparison.views))]
    there = np.concatenate([part.there for part in parts])[first]
    missing = np.concatenate([part.missing for part in parts])[first]
    joined = join_layers(comparison, scaled, there, n_neighbors, missing=missing, collectives=collectives)
    return ReferenceRows(comparison, joined, sample[first], sample, groups, hashes[first], n_neighbors)


def content_order(data: Views, collectives: Collectives = ALONE) -> np.ndarray:
    """Return the numbers of the rows in the order of their hashes, (n,): the same table, however rows are ordered.

    Examples
    --------
    >>> from coterie.data import as_views
    >>> rows = np.array([[2.0], [0.0], [1.0]])
    >>> rows[content_order(as_views(rows))].ravel() == rows[::-1][content_order(as_views(rows[::-1]))].ravel()
    array([ True,  True,  True])
    """
    own = np.arange(data.n_rows)[share_of(data.n_rows, collectives)]
    parts = (row_hashes(data.read(rows), data.present_rows(rows)) for rows in pieces(own, data))
    hashes = gathered(ArrayBuilder.of(parts).joined().view(np.int64), data.n_rows, collectives)
    return np.argsort(hashes, kind="stable")


class Comparable(NamedTuple):
    """Rows as a comparison takes them, where their views are compared and missing, and hashes of their content."""

    scaled: list[np.ndarray]
    there: np.ndarray
    missing: np.ndarray
    hashes: np.ndarray


def comparable(comparison: Comparison, data: Views, rows: Any) -> Comparable:
    """Read rows, scale them, and say which of their views count."""
    blocks, present = data.read(rows), data.present_rows(rows)
    missing = ~present[:, comparison.views]
    return Comparable(*comparison.scaled(blocks, present), missing, row_hashes(blocks, present))


def pieces(numbers: np.ndarray, data: Views) -> Iterator[np.ndarray]:
    """Yield row numbers in parts that fit easily into memory when they are read."""
    step = max(1, _CHUNK_BYTES // (4 * max(1, sum(data.dims))))
    for start in range(0, len(numbers), step):
        yield numbers[start : start + step]


class Assigned(NamedTuple):
    """What is said of some rows.

    Attributes
    ----------
    labels : ndarray of shape (b,)
    memberships : ndarray of shape (b, k), float32
        Rows sum to one; the largest is the label's, and its value the confidence.
    outlier_scores : ndarray of shape (b,)
    nodes : ndarray of shape (b,)
        The node that each row is equal to, or has its heaviest edge to among those of its label.
    """

    labels: np.ndarray
    memberships: np.ndarray
    outlier_scores: np.ndarray
    nodes: np.ndarray


@dataclass(frozen=True)
class IndexedLayer:
    """The nodes that are there in a layer, ready to be searched.

    Attributes
    ----------
    index : NeighbourIndex
    numbers : ndarray
        Of these nodes among all.
    kernel : Kernel
        Of these nodes.
    spread : ndarray
        Mean distance of each to its neighbours.
    weight : float
    """

    index: NeighbourIndex
    numbers: np.ndarray
    kernel: Kernel
    spread: np.ndarray
    weight: float

    def edges(self, rows: np.ndarray, n_neighbors: int, bandwidth: float) -> tuple[Neighbours, np.ndarray]:
        """Return more than enough neighbours of rows, and the weights of the edges as if rows were in the graph.

        A row names its nearest nodes, and is named by nodes that it is nearer to than their last neighbour.
        """
        near = self.index.search(rows, _REACH * n_neighbors)
        distances = near.distances
        named = np.zeros_like(distances)
        named[:, :n_neighbors] = fuzzy_weights(distances[:, :n_neighbors])
        theirs = self.kernel.of(near.indices)
        naming = theirs.weights(distances) * (distances <= theirs.reach)
        weights = named ** (1 / bandwidth) + naming ** (1 / bandwidth)
        return near, self.weight * weights / 2


class GraphIndex:
    """Labels rows by a vote of their nearest nodes, in every layer that they have.

    A row that is equal to a node has that node's label. So a row gets the label it got in the fit, and the same
    alone as in a batch.

    Parameters
    ----------
    comparison : Comparison
    layers : list of IndexedLayer
    hashes, labels, confidence : ndarray of shape (r,)
        Of the nodes.
    calibration : Calibration
    outlier_scores : ndarray of shape (r,)
        Of the nodes.
    n_neighbors : int
    bandwidth : float
    """

    def __init__(
        self,
        comparison: Comparison,
        layers: list[IndexedLayer],
        hashes: np.ndarray,
        labels: np.ndarray,
        confidence: np.ndarray,
        calibration: Calibration,
        outlier_scores: np.ndarray,
        n_neighbors: int,
        bandwidth: float,
    ) -> None:
        self.comparison, self.layers, self.calibration = comparison, layers, calibration
        self.outlier_scores = outlier_scores
        self.hashes, self.labels, self.confidence = hashes, labels, confidence
        self.n_neighbors, self.bandwidth = n_neighbors, bandwidth
        self._order = np.argsort(hashes, kind="stable")

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return len(self.calibration.stability)

    @property
    def width(self) -> int:
        """How many columns `embed` returns."""
        return self.layers[-1].index.rows.shape[1]

    @classmethod
    def build(cls, reference: ReferenceRows, labels: np.ndarray, calibration: Calibration) -> GraphIndex:
        """Take the nodes of a graph and their labels."""
        joined = reference.joined
        layers = [
            IndexedLayer(
                layer.index,
                layer.numbers,
                layer.kernel.of(layer.numbers),
                _spread(layer.neighbours.distances[layer.numbers]),
                layer.weight,
            )
            for layer in joined.layers
        ]
        n_clusters = len(calibration.stability)
        votes = row_ties(joined.matrix, labels, n_clusters)
        return cls(
            reference.comparison,
            layers,
            reference.hashes,
            labels,
            calibration.confidence(votes, labels),
            calibration,
            node_outlier_scores(joined),
            reference.n_neighbors,
            joined.bandwidth,
        )

    def assign(self, rows: Comparable) -> Assigned:
        """Return labels, memberships and outlier scores of rows."""
        near = self._search(rows)
        votes = np.zeros((len(rows.there), self.n_clusters))
        for layer, (asked, indices, weights) in zip(self.layers, near.edges, strict=True):
            cells = asked[:, None] * self.n_clusters + self.labels[layer.numbers[indices]]
            votes += np.bincount(cells.ravel(), weights.ravel(), votes.size).reshape(votes.shape)
        labels = votes.argmax(axis=1)
        confidence = self.calibration.confidence(votes, labels)
        equal = self._equal_nodes(rows.hashes)
        known = equal >= 0
        labels[known], confidence[known] = self.labels[equal[known]], self.confidence[equal[known]]
        shares = memberships(votes, labels, confidence).astype(np.float32)
        nodes = np.where(known, equal, self._heaviest(near, labels))
        scores = np.where(known, self.outlier_scores[equal], near.outlier_scores)
        return Assigned(labels, shares, scores, nodes)

    def _heaviest(self, near: _Near, labels: np.ndarray) -> np.ndarray:
        """Return the node of the same label that each row has its heaviest edge to; 0 where there is none."""
        nodes, best = np.zeros(len(labels), dtype=np.int64), np.zeros(len(labels))
        for layer, (asked, indices, weights) in zip(self.layers, near.edges, strict=True):
            found = layer.numbers[indices]
            own = np.where(self.labels[found] == labels[asked, None], weights, 0.0)
            first = own.argmax(axis=1, keepdims=True)
            weight = np.take_along_axis(own, first, 1)[:, 0]
            heavier = weight > best[asked]
            nodes[asked[heavier]] = np.take_along_axis(found, first, 1)[heavier, 0]
            best[asked[heavier]] = weight[heavier]
        return nodes

    def embed(self, rows: Comparable) -> np.ndarray:
        """Return rows as they are compared, (b, width): in the layer of the concatenated views where there is one.

        A row that lacks a view gets the weighted mean of its neighbours in the layers that it has.
        """
        layers = self.comparison.layers(rows.scaled, rows.there)
        table, lacking = layers.tables[-1].copy(), np.flatnonzero(~layers.there[:, -1])
        if len(lacking):
            last = self.layers[-1]
            place = np.full(len(self.labels), -1)
            place[last.numbers] = np.arange(len(last.numbers))
            sums, totals = np.zeros(table.shape), np.zeros(len(table))
            for layer, (asked, indices, weights) in zip(self.layers, self._search(rows).edges, strict=True):
                found = place[layer.numbers[indices]]
                weights = np.where(found >= 0, weights, 0.0)
                sums[asked] += np.einsum("bk,bkd->bd", weights, last.index.rows[found])
                totals[asked] += weights.sum(axis=1)
            table[lacking] = sums[lacking] / np.maximum(totals[lacking], np.finfo(float).tiny)[:, None]
        return table

    def _search(self, rows: Comparable) -> _Near:
        layers = self.comparison.layers(rows.scaled, rows.there)
        edges, scores, totals = [], np.zeros(len(rows.there)), np.zeros(len(rows.there))
        for i, layer in enumerate(self.layers):
            asked = np.flatnonzero(layers.there[:, i])
            near, weights = layer.edges(layers.tables[i][asked], self.n_neighbors, self.bandwidth)
            edges.append((asked, near.indices, weights))
            first = slice(None), slice(None, self.n_neighbors)
            ratio = outlier_ratio(near.distances[first], layer.spread[near.indices[first]])
            scores[asked] += layer.weight * ratio
            totals[asked] += layer.weight
        return _Near(edges, scores / np.maximum(totals, np.finfo(float).tiny))

    def _equal_nodes(self, hashes: np.ndarray) -> np.ndarray:
        """Return the node that each row is equal to, -1 where there is none."""
        ordered = self.hashes[self._order]
        place = np.searchsorted(ordered, hashes).clip(max=len(ordered) - 1)
        return np.where(ordered[place] == hashes, self._order[place], -1)

    # Saving

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything as JSON values and arrays."""
        values, arrays = self.comparison.state()
        arrays = {f"comparison.{name}": array for name, array in arrays.items()}
        for i, layer in enumerate(self.layers):
            arrays |= {f"layer{i}.rows": layer.index.rows, f"layer{i}.numbers": layer.numbers}
            arrays |= {f"layer{i}.spread": layer.spread, f"layer{i}.kernel": np.stack(layer.kernel)}
        arrays |= {
            "node.hashes": self.hashes.view(np.int64),
            "node.labels": self.labels,
            "node.confidence": self.confidence,
            "node.outlier_scores": self.outlier_scores,
            "calibration.shares": self.calibration.shares,
            "calibration.values": self.calibration.values,
            "calibration.stability": self.calibration.stability,
        }
        weights = [layer.weight for layer in self.layers]
        return {
            "comparison": values,
            "weights": weights,
            "n_neighbors": self.n_neighbors,
            "bandwidth": self.bandwidth,
        }, arrays

    @classmethod
    def from_state(
        cls, values: dict[str, Any], arrays: dict[str, np.ndarray], dims: Sequence[int]
    ) -> GraphIndex:
        """Take back what `state` gave, for views of these numbers of columns."""
        comparison = Comparison.from_state(values["comparison"], below("comparison.", arrays), dims)
        layers = [
            IndexedLayer(
                NeighbourIndex(arrays[f"layer{i}.rows"]),
                arrays[f"layer{i}.numbers"],
                Kernel(*arrays[f"layer{i}.kernel"]),
                arrays[f"layer{i}.spread"],
                float(weight),
            )
            for i, weight in enumerate(values["weights"])
        ]
        calibration = Calibration(
            arrays["calibration.shares"], arrays["calibration.values"], arrays["calibration.stability"]
        )
        return cls(
            comparison,
            layers,
            arrays["node.hashes"].view(np.uint64),
            arrays["node.labels"],
            arrays["node.confidence"],
            calibration,
            arrays["node.outlier_scores"],
            int(values["n_neighbors"]),
            float(values["bandwidth"]),
        )


class _Near(NamedTuple):
    """The rows asked, their neighbours and the weights of the edges, a layer; and outlier scores."""

    edges: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    outlier_scores: np.ndarray


def outlier_ratio(distances: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return how much farther rows are from their neighbours than these from theirs, (b,); about 1 inside a cluster.

    A simplified local outlier factor (Schubert, Zimek and Kriegel 2014).

    Parameters
    ----------
    distances : ndarray of shape (b, k)
        Of rows to their neighbours.
    spread : ndarray of shape (b, k)
        Mean distance of these neighbours to their own.

    Examples
    --------
    >>> outlier_ratio(np.array([[1.0, 1.0], [6.0, 6.0]]), np.array([[1.0, 1.0], [1.0, 1.0]]))
    array([1., 6.])
    """
    own, theirs = _spread(distances), spread.sum(axis=1) / max(1, spread.shape[1])
    with np.errstate(over="ignore"):
        ratio = own / np.maximum(theirs, np.finfo(float).tiny)
    return np.where(own > 0, ratio, 1.0).clip(max=_FARTHEST)


def _spread(distances: np.ndarray) -> np.ndarray:
    known = np.isfinite(distances)
    return np.where(known, distances, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)


def node_outlier_scores(joined: JoinedGraph) -> np.ndarray:
    """Return the outlier score of every node of a graph, (r,), the weighted mean over its layers."""
    scores, totals = np.zeros(len(joined.counted)), np.zeros(len(joined.counted))
    for layer in joined.layers:
        own = layer.numbers
        distances, indices = layer.neighbours.distances[own], layer.neighbours.indices[own]
        spread = np.zeros(len(scores))
        spread[own] = _spread(distances)
        scores[own] += layer.weight * outlier_ratio(distances, spread[indices])
        totals[own] += layer.weight
    return scores / np.maximum(totals, np.finfo(float).tiny)


def medoids(table: np.ndarray, labels: np.ndarray, confidence: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the row of each cluster that is nearest to the cluster's mean, (k,), among its surer half.

    Of all rows of a cluster it has the least sum of squared distances to the others; -1 for a cluster without rows.

    Parameters
    ----------
    table : ndarray of shape (r, d)
    labels, confidence : ndarray of shape (r,)
    n_clusters : int

    Examples
    --------
    >>> medoids(np.array([[0.0], [1.0], [2.5], [9.0]]), np.array([0, 0, 0, 1]), np.ones(4), 2)
    array([1, 3])
    """
    chosen = np.full(n_clusters, -1)
    for cluster in np.unique(labels):
        own = np.flatnonzero(labels == cluster)
        centre = table[own].mean(axis=0, dtype=np.float64)
        sure = own[confidence[own] >= np.median(confidence[own])]
        chosen[cluster] = sure[np.square(table[sure] - centre).sum(axis=1).argmin()]
    return chosen
