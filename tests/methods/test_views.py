"""Groups that no view tells alone, groups that one view cannot tell, and noise: what MVSIB and LargeMvCNet find."""

import numpy as np
import pytest
from tests.graph.planted import of_parts, with_blind_view, with_noise_view

from coterie import MVSIB, LargeMvCNet
from coterie.metrics import accuracy

SIZES = {"even": [60] * 6, "uneven": [150, 90, 60, 40, 25, 15]}
METHODS = [MVSIB, LargeMvCNet]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("method", METHODS)
def test_groups_that_no_view_tells_are_found(method, sizes):
    views, truth = of_parts(SIZES[sizes])
    model = method(6, random_state=0).fit(views)
    assert accuracy(truth, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(views), model.labels_)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("model", [MVSIB(5, max_epochs=100, random_state=0), LargeMvCNet(5, random_state=0)])
def test_groups_that_one_view_cannot_tell_are_found(model, seed):
    views, truth = with_blind_view(seed)
    assert accuracy(truth, model.fit(views).labels_) > 0.95


@pytest.mark.parametrize("method", METHODS)
def test_a_view_of_noise_does_not_silence_the_one_with_the_groups(method):
    views, truth = with_noise_view()
    assert accuracy(truth, method(6, random_state=0).fit(views).labels_) > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_a_view_are_joined_by_the_views_that_they_have(method):
    views, truth = with_blind_view()
    there = np.ones((len(truth), 2), dtype=bool)
    there[::10, 1] = False
    there[5::10, 0] = False
    # Who has only the view that takes two groups for one cannot be told from the other of the two.
    told = there[:, 0] | (truth < 3)
    for view, present in zip(views, there.T, strict=True):
        view[~present] = np.nan
    model = method(5, random_state=0).fit(views)
    assert accuracy(truth[told], model.labels_[told]) > 0.95
