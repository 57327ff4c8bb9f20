import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from coterie.ops.anchors import nearest_anchors, spectral_embedding, tied
from coterie.ops.kmeans import match_centers
from coterie.ops.pca import principal_axes


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def anchor_graph(rows: torch.Tensor, anchors: torch.Tensor, p: int) -> sparse.csr_matrix:
    columns, weights = nearest_anchors(rows, anchors, p)
    return tied(columns.numpy(), weights.numpy(), len(anchors))


def project_to_simplex(v: np.ndarray) -> np.ndarray:
    u = np.sort(v)[::-1]
    over = u - (np.cumsum(u) - 1) / np.arange(1, len(v) + 1)
    rho = np.nonzero(over > 0)[0][-1]
    return np.maximum(v - (np.cumsum(u)[rho] - 1) / (rho + 1), 0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000))
def test_anchor_weights_are_the_simplex_projection_with_the_gap_as_width(seed):
    rows, anchors = torch.randn(6, 3, generator=seeded(seed)), torch.randn(9, 3, generator=seeded(seed + 1))
    graph = anchor_graph(rows, anchors, 4).toarray()
    distances = (rows[:, None].double() - anchors.double()).square().sum(2).numpy()
    for row, d in zip(graph, distances, strict=True):
        nearest = np.sort(d)
        gamma = (4 * nearest[4] - nearest[:4].sum()) / 2
        np.testing.assert_allclose(row, project_to_simplex(-d / (2 * gamma)), atol=1e-4)


def test_tied_anchors_get_equal_weights():
    graph = anchor_graph(torch.zeros(1, 2), torch.ones(4, 2), 2).toarray()
    assert sorted(graph[0]) == pytest.approx([0, 0, 0.5, 0.5])


def test_spectral_embedding_spans_the_eigenvectors_of_the_full_graph():
    rows = torch.randn(30, 2, generator=seeded())
    graph = anchor_graph(rows, rows[:8].clone(), 3)
    dense = graph.toarray()
    full = dense @ np.diag(1 / dense.sum(0)) @ dense.T
    top = np.linalg.eigh(full)[1][:, -3:]
    top /= np.linalg.norm(top, axis=1, keepdims=True)
    found = spectral_embedding(graph, 3)
    np.testing.assert_allclose(np.abs(found @ found.T), np.abs(top @ top.T), atol=1e-6)


def test_an_anchor_without_rows_does_no_harm():
    graph = sparse.csr_matrix(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    assert np.isfinite(spectral_embedding(graph, 2)).all()


def test_matching_undoes_a_permutation_of_moved_centers():
    old = torch.randn(6, 3, generator=seeded()) * 10
    moved = old + 0.1 * torch.randn(6, 3, generator=seeded(1))
    order = torch.randperm(6, generator=seeded(2))
    torch.testing.assert_close(match_centers(old, moved[order]), moved)


@pytest.mark.parametrize("shape", [(60, 20), (60, 5000), (2100, 2200)])
def test_principal_axes_are_those_of_the_singular_value_decomposition(shape):
    n_rows, n_features = shape
    directions = torch.linalg.qr(torch.randn(n_features, 4, generator=seeded()))[0]
    rows = torch.randn(n_rows, 4, generator=seeded(1)) * torch.tensor([8.0, 4.0, 2.0, 1.0]) @ directions.T
    axes = principal_axes(rows, 3, generator=seeded(2))
    turned = axes.T @ directions  # rows lie in the span of the directions, and so must the axes
    expected = torch.linalg.svd(rows @ directions - (rows @ directions).mean(0), full_matrices=False)[2][:3]
    torch.testing.assert_close((turned * expected).sum(1).abs(), torch.ones(3), atol=1e-3, rtol=0)
    torch.testing.assert_close(axes.T @ axes, torch.eye(3), atol=1e-4, rtol=0)


def test_as_many_principal_axes_as_rows_are_orthonormal():
    rows = torch.randn(12, 40, generator=seeded())
    axes = principal_axes(rows, 50, generator=seeded(1))
    torch.testing.assert_close(axes.T @ axes, torch.eye(12), atol=1e-4, rtol=0)
    torch.testing.assert_close((rows - rows.mean(0)) @ axes @ axes.T, rows - rows.mean(0), atol=1e-4, rtol=0)
