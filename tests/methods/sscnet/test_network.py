"""What the coder sees of a row."""

import torch

from coterie.graph.projected import ProjectedRows


def rows(n=80, d=12) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(n, d, generator=generator) * torch.linspace(3, 0.1, d)


def test_few_columns_are_seen_as_they_are():
    X = rows()
    look = ProjectedRows("euclidean", 12, 256).fit(X, torch.Generator().manual_seed(0))
    torch.testing.assert_close(look(X), look.space(X))


def test_many_columns_are_seen_along_their_leading_axes_with_mean_variance_one():
    X = rows()
    look = ProjectedRows("euclidean", 12, 4).fit(X, torch.Generator().manual_seed(0))
    seen = look(X)
    assert seen.shape == (80, 4)
    assert abs(float(seen.var(0, correction=0).mean()) - 1) < 1e-4
    centered = X - X.mean(0)
    best = torch.linalg.svdvals(centered)[:4].square().sum()
    back = look.directions(seen)
    kept = centered.square().sum() - (centered - back).square().sum()
    torch.testing.assert_close(kept, best, rtol=1e-3, atol=0)
