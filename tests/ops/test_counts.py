"""What speaks for a number of clusters, on graphs whose groups are known."""

import numpy as np
import pytest
import torch
from scipy import sparse

from coterie.ops.counts import CountFigures, count_figures, extended


def planted(sizes, inside=0.5, between=0.02, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(kind[:, None] == kind, inside, between)
    edges = np.triu(rng.random(chance.shape) < chance, 1)
    return sparse.csr_matrix((edges | edges.T).astype(float))


def figures_of(graph, ks):
    def join(rows):
        return graph[rows][:, rows].tocsr()

    generator = torch.Generator().manual_seed(0)
    return {one.k: one for one in count_figures(join, graph.shape[0], ks, generator=generator)}


@pytest.mark.parametrize("sizes", [[40, 40, 40], [90, 30, 20, 25, 35]])
def test_planted_groups_have_the_highest_score(sizes):
    found = figures_of(planted(sizes), range(2, 9))
    assert max(found.values(), key=lambda one: one.score).k == len(sizes)
    assert found[len(sizes)].stability > 0.95


def test_a_graph_without_groups_has_no_stable_clusters():
    found = figures_of(planted([120], inside=0.2), range(2, 9))
    assert max(one.stability for one in found.values()) < 0.3


def test_the_score_is_never_below_zero():
    assert CountFigures(2, -0.1, 0.3, 0.2).score == 0
    assert CountFigures(2, 0.5, -0.3, 0.2).score == 0
    assert CountFigures(2, 0.5, 0.5, 0.2).score == 0.25


def test_rows_without_a_cluster_take_that_of_most_neighbours_then_of_theirs():
    # 0 and 1 are known; 2 hangs on both but more on 1; 3 hangs on 2 alone; 4 on nobody.
    graph = np.zeros((5, 5))
    graph[2, [0, 1]] = [1, 2]
    graph[3, 2] = 1
    graph = sparse.csr_matrix(graph + graph.T)
    assert extended(graph, np.array([0, 1]), np.array([0, 1]), 2).tolist() == [0, 1, 1, 1, 0]
