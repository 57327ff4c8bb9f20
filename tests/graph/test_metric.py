import pytest
import torch

from coterie.graph.metric import KINDS, MetricSpace, choose_metric, fit_metric, share_in_means
from coterie.graph.neighbours import neighbours_of_each


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_variance_of_the_fitted_rows_is_one(kind):
    rows = 7 + 3 * torch.randn(200, 20, generator=seeded())
    space = MetricSpace(kind, 20).fit(rows)
    assert float(space(rows).var(0, correction=0).mean()) == pytest.approx(1, rel=1e-3)


def test_correlation_ignores_the_brightness_and_contrast_of_a_row():
    rows = torch.rand(30, 16, generator=seeded())
    space = MetricSpace("correlation", 16).fit(rows)
    torch.testing.assert_close(space(5 + 3 * rows), space(rows), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("n_rows", "n_features"), [(4000, 5), (60, 200)])
def test_whitening_divides_each_axis_by_the_root_of_variance_plus_mean_variance(n_rows, n_features):
    sizes = torch.ones(n_features)
    sizes[0] = 9.0
    rows = torch.randn(n_rows, n_features, generator=seeded()) * sizes
    space = MetricSpace("whitened", n_features).fit(rows)
    unit = torch.nn.functional.normalize(rows)
    centered = unit - unit.mean(0)
    variances, axes = torch.linalg.eigh(centered.T @ centered / n_rows)
    shrunk = (variances + variances.mean()).sqrt()
    naive = torch.stack(
        [sum((row @ a) * a / s for s, a in zip(shrunk, axes.T, strict=True)) for row in centered[:50]]
    )
    naive = torch.nn.functional.normalize(naive) / space.spread
    torch.testing.assert_close(space(rows[:50]), naive, atol=1e-4, rtol=1e-3)


def test_the_euclidean_map_can_be_undone():
    rows = torch.rand(10, 3, generator=seeded())
    space = MetricSpace("euclidean", 3).fit(rows)
    torch.testing.assert_close(space.inverse(space(rows)), rows)


@pytest.mark.parametrize("kind", ["euclidean", "whitened"])
def test_directions_are_what_the_linear_part_of_the_map_takes_back(kind):
    rows = torch.randn(60, 5, generator=torch.Generator().manual_seed(0)) * torch.arange(1.0, 6)
    space = MetricSpace(kind, 5).fit(rows)
    given = torch.randn(3, 5, generator=torch.Generator().manual_seed(1))
    linear = space.rotation if kind == "whitened" else torch.eye(5)
    torch.testing.assert_close(space.directions(given @ linear / space.spread), given, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_and_zero_rows_stay_finite(kind):
    rows = torch.zeros(5, 16)
    assert torch.isfinite(MetricSpace(kind, 16).fit(rows)(rows)).all()


def test_the_choice_sees_through_a_strong_direction_that_says_nothing():
    centers = torch.randn(12, 20, generator=seeded())
    truth = torch.arange(600) % 12
    rows = centers[truth] + 0.4 * torch.randn(600, 20, generator=seeded(1))
    nuisance = torch.nn.functional.normalize(torch.randn(1, 20, generator=seeded(2)))
    rows = rows + 40 * torch.randn(600, 1, generator=seeded(3)) * nuisance

    def purity(kind: str) -> float:
        table = neighbours_of_each(MetricSpace(kind, 20).fit(rows)(rows).numpy(), 10)[1].indices
        return float((truth[table] == truth[:, None]).double().mean())

    chosen = choose_metric(rows, n_neighbors=10, generator=seeded()).kind
    assert purity(chosen) > purity("euclidean") + 0.5
    assert purity(chosen) > max(map(purity, KINDS)) - 0.05


def test_rows_of_few_features_are_compared_as_they_are():
    choice = choose_metric(torch.rand(100, 3, generator=seeded()), n_neighbors=5, generator=seeded())
    assert choice.kind == "euclidean"
    assert list(choice.agreement) == [("euclidean", 3)]


def test_correlation_is_not_tried_where_rows_differ_by_their_means():
    # Two groups of rows that are larger or smaller in all columns, which correlation would not see.
    size = torch.repeat_interleave(torch.tensor([-1.0, 1.0]), 60)[:, None]
    rows = size + 0.8 * torch.randn(120, 20, generator=seeded())
    assert share_in_means(rows) > 0.25
    choice = choose_metric(rows, n_neighbors=5, generator=seeded())
    assert {kind for kind, _ in choice.agreement} == {"euclidean", "whitened"}
    plain = choose_metric(rows - rows.mean(1, keepdim=True), n_neighbors=5, generator=seeded())
    assert {kind for kind, _ in plain.agreement} == set(KINDS)


def test_correlation_is_used_where_it_is_asked_for_whatever_the_means():
    rows = torch.arange(40.0)[:, None] + torch.rand(40, 20, generator=seeded())
    assert fit_metric(rows, "correlation", 5, seeded()).kind == "correlation"


def test_the_share_in_means_equals_its_naive_form():
    rows = torch.randn(30, 7, generator=seeded()).double() + torch.randn(30, 1, generator=seeded(1)).double()
    whole = sum(float(((column - column.mean()) ** 2).mean()) for column in rows.T)
    center = float(rows.mean())
    means = sum((float(row.mean()) - center) ** 2 for row in rows) / 30
    assert share_in_means(rows) == pytest.approx(7 * means / whole)
    assert share_in_means(torch.ones(3, 4)) == 0
