import numpy as np
import pytest

from coterie.errors import InputError
from coterie.explore.figures import plane_points
from coterie.explore.maps import Maps
from coterie.explore.model_sample import read_sample
from coterie.explore.rows import Table


@pytest.fixture
def maps_of(nearest):
    """Return a function from views, and centres of all columns, to the maps of all rows."""

    def make(X, centres, **options):
        model = nearest(centres).fit(np.hstack([np.nan_to_num(view) for view in X.values()]))
        table = Table(X, model)
        return Maps(model, table, read_sample(model, table, model.labels_, 1000, 0), **options)

    return make


def views(n=120, seed=0):
    """Two groups that only the first view tells apart, in units that differ; the first ten rows lack the second."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    one = rng.normal(size=(n, 3)) + 12 * group[:, None]
    two = 100 * rng.normal(size=(n, 2))
    two[:10] = np.nan
    return {"one": one, "two": two}, group


def apart(coordinates, group):
    """How far the groups lie from each other, in spreads of one."""
    centres = [coordinates[group == g].mean(axis=0) for g in (0, 1)]
    spread = max(coordinates[group == g].std() for g in (0, 1))
    return np.linalg.norm(centres[0] - centres[1]) / spread


@pytest.mark.parametrize("how", ["pca", "tsne"])
def test_each_view_has_a_map_of_its_own_and_rows_without_it_are_not_on_it(maps_of, how):
    X, group = views()
    maps = maps_of(X, [[0.0] * 5, [12.0] * 3 + [0.0] * 2], how=how)
    assert list(maps.titles.values()) == ["Data", "Model", "View one", "View two"]
    first, second = (maps.projection(f"view-{v}").coordinates for v in (0, 1))
    assert apart(first, group) > 2 > apart(second[10:], group[10:])
    assert np.isnan(second[:10]).all()
    assert np.isfinite(second[10:]).all()
    assert plane_points(second)["x"][0] is None
    assert np.isfinite(maps.projection("data").coordinates).all()


def test_the_map_of_the_data_does_not_depend_on_the_models_embedding(maps_of, nearest, monkeypatch):
    X, _ = views()
    centres = [[0.0] * 5, [12.0] * 3 + [0.0] * 2]
    before = maps_of(X, centres, how="pca")
    monkeypatch.setattr(nearest, "transform", lambda self, rows: np.ones((len(rows), 3)))
    after = maps_of(X, centres, how="pca")
    np.testing.assert_array_equal(*(m.projection("data").coordinates for m in (before, after)))
    assert np.ptp(after.projection("model").coordinates) == 0


def test_maps_are_kept_and_others_of_them_are_drawn_anew(maps_of, tmp_path):
    X, _ = views()
    centres = [[0.0] * 5, [12.0] * 3 + [0.0] * 2]
    kept = tmp_path / "maps.coterie"
    drawn = maps_of(X, centres, how="pca", kept=kept).projection("view-0")
    again = maps_of(X, centres, how="pca", kept=kept)
    assert list(again.known()) == ["Data", "Model", "View one"]
    np.testing.assert_array_equal(again.projection("view-0").coordinates, drawn.coordinates)
    assert list(maps_of(X, centres, how="tsne", kept=kept).known()) == ["Data", "Model"]
    kept.write_bytes(b"nothing of the kind")
    assert list(maps_of(X, centres, how="pca", kept=kept).known()) == ["Data", "Model"]


def test_equal_rows_lie_in_one_place(maps_of):
    rows = np.repeat(np.random.default_rng(0).normal(size=(30, 4)), 2, axis=0)
    found = maps_of({"X": rows}, [[0.0] * 4, [1.0] * 4]).projection("data")
    assert found.method == "t-SNE"
    np.testing.assert_array_equal(found.coordinates[::2], found.coordinates[1::2])


def test_an_unknown_map_is_refused(maps_of):
    with pytest.raises(InputError, match="There is no such map"):
        maps_of({"X": np.eye(4)}, [[0.0] * 4, [1.0] * 4]).projection("view-7")
