"""Views that each tell another part of the clusters, and the first clusters that are found in them."""

import numpy as np
import pytest
import torch

from coterie import MVSIB, LargeMvCNet
from coterie.methods.several.first import first_partition, hardly_agree, tell_parts
from coterie.methods.several.joined import join_views
from coterie.metrics import accuracy

SIZES = {"even": [60] * 6, "uneven": [150, 90, 60, 40, 25, 15]}


def of_parts(sizes):
    """Return two views, one of which parts six groups in three and the other in two, and the groups."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat(np.arange(6), sizes))
    parts = [3 * rng.normal(size=(3, 8))[truth % 3], 3 * rng.normal(size=(2, 8))[truth // 3]]
    return [(part + rng.normal(size=part.shape)).astype(np.float32) for part in parts], truth


def with_noise():
    """Return a view with six groups, one of noise, and the groups."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.repeat(np.arange(6), 60))
    view = 2 * rng.normal(size=(6, 10))[truth] + rng.normal(size=(360, 10))
    return [view.astype(np.float32), rng.normal(size=(360, 40)).astype(np.float32)], truth


def join(views, complete=None):
    rows = [torch.from_numpy(view) for view in views]
    complete = np.ones(len(rows[0]), dtype=bool) if complete is None else complete
    return join_views(
        rows,
        np.repeat(complete[:, None], len(views), axis=1),
        together=torch.hstack([row / row.std() for row in rows]),
        complete=complete,
        n_neighbors=10,
        generator=torch.Generator().manual_seed(0),
    )


@pytest.mark.parametrize("sizes", SIZES)
def test_views_that_tell_parts_are_compared_side_by_side(sizes):
    views, truth = of_parts(SIZES[sizes])
    joined = join(views)
    assert hardly_agree(joined, 6)
    found, labels = first_partition(joined, 6, generator=torch.Generator().manual_seed(0))
    assert accuracy(truth, labels) > 0.98
    for one, other in zip(*found.graph.nonzero(), strict=True):
        assert other in joined.beside[one] or one in joined.beside[other]


def test_a_view_of_noise_does_not_silence_the_one_with_the_groups():
    views, truth = with_noise()
    joined = join(views)
    assert hardly_agree(joined, 6)
    assert not tell_parts(joined.side_by_side(), truth, 6)
    found, labels = first_partition(joined, 6, generator=torch.Generator().manual_seed(0))
    assert found is joined
    assert accuracy(truth, labels) > 0.9


def test_views_with_the_same_groups_are_joined():
    views, truth = with_noise()
    other = np.random.default_rng(1)
    joined = join([views[0], 2 * other.normal(size=(6, 10))[truth] + other.normal(size=(360, 10))])
    assert not hardly_agree(joined, 6)


def test_rows_without_a_view_are_joined_by_the_views_that_they_have():
    views, _ = of_parts(SIZES["even"])
    complete = np.arange(360) % 10 > 0
    assert not hardly_agree(join(views, complete), 6)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("method", [MVSIB, LargeMvCNet])
def test_the_methods_for_several_views_find_groups_that_no_view_tells(method, sizes):
    views, truth = of_parts(SIZES[sizes])
    model = method(6, random_state=0).fit(views)
    assert accuracy(truth, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(views), model.labels_)


def test_rows_beyond_the_sample_are_compared_in_the_same_way(monkeypatch):
    for module in ("several.sample", "mvsib.fitting"):
        monkeypatch.setattr(f"coterie.methods.{module}.SAMPLE_ROWS", 240)
    views, truth = of_parts(SIZES["even"])
    model = MVSIB(6, random_state=0)
    model.seed_ = 0
    data = model._check_input(views, reset=True)
    pairs = model._prepare(model._resolved(), data).pairs
    found, _ = pairs.neighbours(np.arange(360))
    assert (truth[found] == truth[:, None]).mean() > 0.9
