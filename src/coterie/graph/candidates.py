"""Candidate partitions of a graph into k clusters: communities that are merged, and spectral clustering."""

# n rows, m communities, k clusters

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import graspologic_native
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lobpcg
from scipy.special import xlogy
from sklearn.cluster import KMeans

from coterie.data.scaling import unit_rows
from coterie.graph.quality import SIZE_EXPONENT, Quality, block_likelihood, block_weights, row_ties

RESOLUTIONS = (1.0, 4.0, 16.0)
LINKAGES = ("modularity", "average")
_FINER, _FINEST = 4.0, 1e12
MOST_COMMUNITIES = 4000
_DENSE_ROWS = 1000
_TOLERANCE = 1e-4
_STEPS = 300
_ROUNDS = 30
_LEAST_GAIN = 1e-9
_SWEEPS = 6
_NEAR = 4


def communities(graph: sparse.csr_matrix, resolution: float, seed: int) -> np.ndarray:
    """Return the communities (n,) of a symmetric graph by the Leiden algorithm (Traag, Waltman and van Eck 2019).

    They maximise modularity in which chance counts `resolution` times: the higher, the more communities.

    Examples
    --------
    >>> two_triangles = sparse.csr_matrix(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))
    >>> communities(two_triangles, 1.0, seed=0)
    array([0, 0, 0, 1, 1, 1])
    """
    n_rows = graph.shape[0]
    if graph.nnz == 0:
        return np.arange(n_rows)
    _, found = graspologic_native.leiden_csr(
        graph.indptr.astype(np.int64),
        graph.indices.astype(np.int32),
        graph.data.astype(np.float64),
        n_rows,
        resolution=resolution,
        seed=seed,
    )
    labels = np.fromiter((found.get(i, n_rows + i) for i in range(n_rows)), np.int64, n_rows)
    return renumbered(labels)


def renumbered(labels: np.ndarray) -> np.ndarray:
    """Return the labels as numbers from 0 without gaps, by first appearance.

    Examples
    --------
    >>> renumbered(np.array([7, 3, 7, 5]))
    array([0, 1, 0, 2])
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    return ranks[inverse]


def different(proposals: Iterable[tuple[str, np.ndarray]]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the partitions that are not the same as an earlier one but for the names of clusters."""
    known = set()
    for origin, labels in proposals:
        content = renumbered(labels).astype(np.int32).tobytes()
        if content not in known:
            known.add(content)
            yield origin, labels


class Merge(NamedTuple):
    """One step of agglomeration.

    Attributes
    ----------
    kept, other : int
        Cluster `other` becomes part of cluster `kept`.
    linkage : float
        Average linkage of the two: their weight over what chance would give, p_ab / (p_a p_b).
    """

    kept: int
    other: int
    linkage: float


def agglomerate(
    blocks: np.ndarray, linkage: str, owner: np.ndarray | None = None, edge: float = 0.0
) -> list[Merge]:
    r"""Return the merges that take m communities down to one, the best pair first.

    With the shares p_ab of the weight between clusters and their volumes p_a, the pair that is merged has the highest

    - "modularity": :math:`p_{ab} - p_a p_b`, the loss of modularity is least;
    - "average": :math:`p_{ab} / (p_a p_b)`, the average linkage of the graph (Bonald et al. 2018), size-blind.

    Parameters
    ----------
    blocks : ndarray of shape (m, m)
        Symmetric weight between communities.
    linkage : {"modularity", "average"}
    owner : ndarray of shape (m,), optional
        A group of each community; communities of one group are merged before those of different groups.
    edge : float
        Weight of the one edge more that any two clusters are taken to have, so that islands have a linkage too.

    Examples
    --------
    >>> agglomerate(np.array([[4.0, 2.0, 0.0], [2.0, 4.0, 1.0], [0.0, 1.0, 9.0]]), "modularity")[0][:2]
    (0, 1)
    """
    whole = max(blocks.sum(), np.finfo(float).tiny)
    shares, least = blocks / whole, max(edge / whole, _LEAST_GAIN)
    volumes = np.maximum(shares.sum(axis=1), np.finfo(float).eps)
    groups = np.zeros(len(shares), dtype=np.int64) if owner is None else owner
    alive = np.ones(len(shares), dtype=bool)

    def gains(a: int) -> np.ndarray:
        chance = volumes[a] * volumes
        line = shares[a] - chance if linkage == "modularity" else (shares[a] + least) / chance
        line[~alive | (groups != groups[a])] = -np.inf
        line[a] = -np.inf
        return line

    table = np.array([gains(a) for a in range(len(shares))])
    # The best partner of each cluster is kept, so that a merge costs a few lines of the table and not all of it.
    partner = table.argmax(axis=1)
    gain = table[np.arange(len(table)), partner]
    merges = []
    for _ in range(len(shares) - 1):
        if gain.max() == -np.inf:  # every group is one cluster
            groups = np.zeros_like(groups)
            for single in np.flatnonzero(alive):
                table[single] = gains(int(single))
            partner, gain = table.argmax(axis=1), table.max(axis=1)
        one = int(gain.argmax())
        a, b = sorted((one, int(partner[one])))
        merges.append(Merge(a, b, float((shares[a, b] + least) / (volumes[a] * volumes[b]))))
        shares[a] += shares[b]
        shares[:, a] += shares[:, b]
        volumes[a] += volumes[b]
        alive[b] = False
        table[b] = table[:, b] = gain[b] = -np.inf
        table[a] = table[:, a] = gains(a)
        nearer = table[:, a] > gain
        partner[nearer], gain[nearer] = a, table[nearer, a]
        stale = np.flatnonzero(alive & ~nearer & np.isin(partner, (a, b)))
        stale = np.union1d(stale, [a])
        partner[stale] = table[stale].argmax(axis=1)
        gain[stale] = table[stale, partner[stale]]
    return merges


def merged_labels(merges: list[Merge], n_communities: int, n_clusters: int) -> np.ndarray:
    """Return the cluster of each community, (m,), when merges have left k clusters.

    Examples
    --------
    >>> merged_labels([Merge(0, 2, 1.0), Merge(0, 1, 0.5)], 3, 2)
    array([0, 1, 0])
    """
    clusters = np.arange(n_communities)
    for kept, other, _ in merges[: n_communities - n_clusters]:
        clusters[clusters == other] = kept
    return renumbered(clusters)


def refine_labels(
    graph: sparse.csr_matrix, labels: np.ndarray, n_clusters: int, rng: np.random.Generator
) -> np.ndarray:
    r"""Move rows to the cluster of highest likelihood while the block information of the partition rises.

    A random half of the rows that `block_likelihood` would move goes at a time, for all at once would move past each
    other; no cluster is emptied.

    Examples
    --------
    >>> two_islands = sparse.csr_matrix(np.kron(np.eye(2), np.ones((4, 4))))
    >>> refine_labels(two_islands, np.array([0, 0, 0, 1, 1, 1, 1, 1]), 2, np.random.default_rng(1))
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    blocks = block_weights(graph, labels, n_clusters)
    best = Quality.of_blocks(blocks).information
    failures = 0
    for _ in range(_ROUNDS):
        wanted = (row_ties(graph, labels, n_clusters) @ block_likelihood(blocks)).argmax(axis=1)
        movers = np.flatnonzero(wanted != labels)
        if len(movers) == 0 or failures > 1:
            break
        moved = labels.copy()
        half = rng.permutation(movers)[: (len(movers) + 1) // 2]
        moved[half] = wanted[half]
        if np.bincount(moved, minlength=n_clusters).min() == 0:
            break
        moved_blocks = block_weights(graph, moved, n_clusters)
        gained = Quality.of_blocks(moved_blocks).information
        if gained <= best + _LEAST_GAIN:
            failures += 1
        else:
            labels, blocks, best, failures = moved, moved_blocks, gained, 0
    return labels


def search_communities(
    layers: Sequence[sparse.csr_matrix],
    fine: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
) -> np.ndarray:
    """Move whole communities to another cluster while the mean J over layers rises, and return the labels (n,).

    A community first takes the cluster that most of its rows have. Where a move of single rows would not pay, that
    of a community of them may: it is tried with the clusters that it has most ties with.

    Parameters
    ----------
    layers : sequence of sparse matrix of shape (n, n)
    fine : ndarray of shape (n,)
        Communities.
    labels : ndarray of shape (n,)
        No cluster is empty.
    n_clusters : int

    Examples
    --------
    >>> pairs = np.kron(np.eye(2), np.full((10, 10), 0.1))
    >>> groups = sparse.csr_matrix(np.kron(np.eye(4), np.ones((5, 5))) + pairs)
    >>> fine, wrong = np.repeat(range(4), 5), np.repeat([0, 1, 1, 1], 5)
    >>> search_communities([groups], fine, wrong, 2)[::5]
    array([0, 0, 1, 1])
    """
    count = int(fine.max()) + 1
    if count > MOST_COMMUNITIES:
        return labels
    overlap = np.zeros((count, n_clusters))
    np.add.at(overlap, (fine, labels), 1)
    cluster = overlap.argmax(axis=1)
    sizes = np.bincount(cluster, minlength=n_clusters)
    if sizes.min() == 0:
        return labels
    layers = [layer for layer in layers if layer.nnz]
    weights = [float(layer.sum()) for layer in layers]
    tables = [_Ties(block_weights(layer, fine, count), cluster, n_clusters) for layer in layers]
    for _ in range(_SWEEPS):
        moved = False
        for one in range(count):
            own = cluster[one]
            if sizes[own] == 1:
                continue
            scores = np.dot(weights, [table.scores(one, own) for table in tables])
            ties = np.dot(weights, [table.ties[one] for table in tables])
            far = np.argsort(-ties, kind="stable")[_NEAR:]
            scores[far[far != own]] = -np.inf
            best = int(scores.argmax())
            if scores[best] > scores[own] + _LEAST_GAIN * sum(weights):
                for table in tables:
                    table.move(one, own, best)
                cluster[one], moved = best, True
                sizes[own], sizes[best] = sizes[own] - 1, sizes[best] + 1
        if not moved:
            break
    return cluster[fine]


class _Ties:
    """The share of a layer's weight between communities, between communities and clusters, and between clusters.

    Parameters
    ----------
    table : ndarray of shape (m, m)
    cluster : ndarray of shape (m,)
        Of each community.
    n_clusters : int
    """

    def __init__(self, table: np.ndarray, cluster: np.ndarray, n_clusters: int) -> None:
        self.table = table / table.sum()
        self.volumes = self.table.sum(axis=1)
        members = np.eye(n_clusters)[cluster]
        self.ties = self.table @ members
        self.blocks = members.T @ self.ties

    def scores(self, one: int, own: int) -> np.ndarray:
        """Return J with a community in each of the clusters, (k,); only the lines of two clusters differ."""
        inside, volume = self.table[one, one], self.volumes[one]
        others, blocks = self._without(one, own)
        terms = _x_log_x(blocks)
        gains = _x_log_x(blocks + others) - terms
        sums = terms.sum() + 2 * (gains.sum(axis=1) - np.diagonal(gains))
        sums += _x_log_x(np.diagonal(blocks) + 2 * others + inside) - np.diagonal(terms)
        volumes = self.blocks.sum(axis=1)
        volumes[own] = max(volumes[own] - volume, 0.0)
        terms = _x_log_x(volumes)
        entropy = np.maximum(terms - _x_log_x(volumes + volume) - terms.sum(), np.finfo(float).tiny)
        return np.asarray((sums + 2 * entropy) / entropy**SIZE_EXPONENT)

    def move(self, one: int, own: int, other: int) -> None:
        """Take a community from its own cluster to another."""
        others, self.blocks = self._without(one, own)
        self.blocks[other] += others
        self.blocks[:, other] += others
        self.blocks[other, other] += self.table[one, one]
        self.ties[:, own] -= self.table[:, one]
        self.ties[:, other] += self.table[:, one]

    def _without(self, one: int, own: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the ties of a community to the other communities of each cluster, (k,), and blocks without it."""
        others, blocks = self.ties[one].copy(), self.blocks.copy()
        others[own] -= self.table[one, one]
        others = np.maximum(others, 0.0)  # rounding
        blocks[own] -= others
        blocks[:, own] -= others
        blocks[own, own] -= self.table[one, one]
        return others, np.maximum(blocks, 0.0)


def _x_log_x(values: np.ndarray) -> np.ndarray:
    return np.asarray(xlogy(values, values))


def spectral_embedding(graph: sparse.csr_matrix, n_components: int) -> np.ndarray:
    """Return the top eigenvectors of the degree-normalised graph, (n, c), rows of unit length (Ng et al. 2002).

    Examples
    --------
    >>> two_pairs = sparse.csr_matrix(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    >>> rows = spectral_embedding(two_pairs, 2)
    >>> bool(np.allclose(rows[0], rows[1])), bool(abs(rows[0] @ rows[2]) < 1e-6)
    (True, True)
    """
    n_rows = graph.shape[0]
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    scale = sparse.diags(1 / np.sqrt(np.maximum(degrees, np.finfo(float).eps)))
    normalised = scale @ graph @ scale
    if n_rows <= max(_DENSE_ROWS, 5 * n_components):
        vectors = np.linalg.eigh(normalised.toarray())[1][:, ::-1][:, :n_components]
    else:
        # A block method: islands give as many equal eigenvalues, of which Lanczos from one vector misses some.
        start = np.random.default_rng(0).standard_normal((n_rows, n_components))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning)  # a few digits are enough
            vectors = lobpcg(normalised, start, largest=True, tol=_TOLERANCE, maxiter=_STEPS)[1]
    return unit_rows(vectors)


def spectral_labels(embedding: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return k-means labels (n,) of a spectral embedding, from one start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct rows than clusters: the caller looks
        return KMeans(n_clusters, n_init=1, random_state=seed).fit_predict(embedding)


def fine_communities(graph: sparse.csr_matrix, least: int, resolution: float, seed: int) -> np.ndarray:
    """Return communities at a resolution, or at a higher one where they are fewer than `least`."""
    while resolution < _FINEST:
        found = communities(graph, resolution, seed)
        if found.max() + 1 >= least:
            return found
        resolution *= _FINER
    return np.arange(graph.shape[0])


def absorbed_communities(graph: sparse.csr_matrix, n_clusters: int, seed: int) -> np.ndarray:
    """Return a partition (n,) of the k largest communities; each of the others joins the one it has most ties with.

    For as many communities that a table of all pairs would not fit into memory.

    Examples
    --------
    >>> path = sparse.csr_matrix(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    >>> len(np.unique(absorbed_communities(path, 3, seed=0)))
    3
    """
    fine = fine_communities(graph, n_clusters, RESOLUTIONS[-1], seed)
    sizes = np.bincount(fine)
    large = np.argsort(-sizes, kind="stable")[:n_clusters]
    cluster = np.full(len(sizes), -1)
    cluster[large] = np.arange(n_clusters)
    member = sparse.csr_matrix((np.ones(len(fine)), (np.arange(len(fine)), fine)), (len(fine), len(sizes)))
    ties = sparse.csr_matrix(member.T @ graph @ member)[:, large]
    small = np.flatnonzero(cluster < 0)
    cluster[small] = np.asarray(ties[small].argmax(axis=1)).ravel()
    return cluster[fine]


def merged_candidates(
    graph: sparse.csr_matrix,
    n_clusters: int,
    seed: int,
    resolutions: tuple[float, ...] = RESOLUTIONS,
    islands: np.ndarray | None = None,
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield partitions: communities at several resolutions, merged to k clusters by each linkage.

    Communities of one island (n,) are merged before those of different ones.
    """
    for resolution in resolutions:
        fine = fine_communities(graph, n_clusters, resolution, seed)
        count = int(fine.max()) + 1
        if count == n_clusters:
            yield f"Leiden {resolution:g}", fine
        elif count <= MOST_COMMUNITIES:
            blocks = block_weights(graph, fine, count)
            owner = None
            if islands is not None:
                owner = np.zeros(count, dtype=np.int64)
                owner[fine] = islands
            for linkage in LINKAGES:
                clusters = merged_labels(agglomerate(blocks, linkage, owner), count, n_clusters)
                yield f"Leiden {resolution:g}, {linkage} linkage", clusters[fine]


def with_layers(
    graph: sparse.csr_matrix,
    layers: Sequence[tuple[str, sparse.csr_matrix]],
    n_clusters: int,
    islands: np.ndarray | None,
    propose: Callable[[sparse.csr_matrix, np.ndarray | None], Iterator[tuple[str, np.ndarray]]],
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what is proposed for a graph, and for some of its layers.

    Rows that lack a view are not in its layer; they take the cluster that they have most ties with in the graph.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
    layers : sequence of name and sparse matrix of shape (n, n)
    n_clusters : int
    islands : ndarray of shape (n,), optional
    propose : callable
        Yields partitions of a graph, with their origin; it also takes the islands.
    """
    yield from propose(graph, islands)
    for name, layer in layers:
        here = np.flatnonzero(np.diff(layer.indptr))
        if len(here) < max(2, n_clusters):
            continue
        ties = graph[:, here]
        for origin, some in propose(layer[here][:, here], None if islands is None else islands[here]):
            labels = row_ties(ties, some, n_clusters).argmax(axis=1)
            labels[here] = some
            yield f"{name}, {origin}", labels
