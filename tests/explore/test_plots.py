import numpy as np
import pytest

from coterie import plot_compare, plot_map, plot_sizes
from coterie.errors import InputError


@pytest.fixture
def three(fitted):
    return fitted([[0, 0], [9, 0], [0, 9]], [30, 20, 10])


def test_the_map_has_every_row_under_the_name_of_its_cluster(three):
    model, X = three
    figure = plot_map(model, X, truth=np.repeat(["a", "b", "c"], [30, 20, 10]), embedding="pca")
    assert [trace.name for trace in figure.data] == ["0: a", "1: b", "2: c"]
    assert [len(trace.x) for trace in figure.data] == [30, 20, 10]
    assert figure.data[1].customdata[:, 0].tolist() == list(range(30, 50))


def test_sizes_are_those_of_the_labels_largest_first(three):
    model, _ = three
    bars = plot_sizes(model, names={2: "few"}).data[0]
    assert list(bars.y) == [30, 20, 10]
    assert list(bars.x) == ["cluster 0", "cluster 1", "few"]


def test_two_clusters_or_a_cluster_and_the_rest_are_compared_by_their_clearest_feature(three):
    model, X = three
    pair = plot_compare(model, X, 0, 1, feature_names=["width", "height"])
    assert pair.layout.annotations[0].text.startswith("width (-")
    assert [trace.name for trace in pair.data[:2]] == ["cluster 0", "cluster 1"]
    rest = plot_compare(model, X, np.arange(50, 60))
    assert [trace.name for trace in rest.data[:2]] == ["10 rows", "the rest"]
    assert sum(rest.data[0].y) == pytest.approx(1, abs=0.01)


def test_a_cluster_that_is_not_there_is_refused(three):
    model, X = three
    with pytest.raises(InputError, match="There is no cluster 7; give one of"):
        plot_compare(model, X, 7)


def test_groups_that_share_rows_are_refused(three):
    model, X = three
    with pytest.raises(InputError, match="share rows"):
        plot_compare(model, X, 0, [0, 1])
