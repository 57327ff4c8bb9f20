"""What is kept from pass to pass, and that nobody can tell it from what is computed anew."""

import numpy as np
import pytest
import torch
from benchmarks.making import make

from coterie import LargeMvCNet, amputate, as_views
from coterie.collectives import Alone
from coterie.errors import InputError
from coterie.graph import outliers, scaling
from coterie.methods.largemvc import fitting, inputs
from coterie.methods.largemvc.features import dense
from coterie.methods.largemvc.inputs import Passes, RowCache, row_bytes
from coterie.ops import distances

QUICK = {"n_landmarks": 40, "random_state": 0}


def some_views(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    views = [kind[:, None] * 3 + rng.normal(size=(n, d)) for d in (6, 9)]
    views[0][5] = 100  # corrupt
    return as_views([x.astype(np.float32) for x in views], mask=amputate(n, 2, 0.3, random_state=1))


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(inputs, "_CHUNK_BYTES", 1)  # 256 rows
    monkeypatch.setattr(scaling, "SAMPLE_ROWS", 300)  # the start is not what is tested here


@pytest.fixture(scope="module")
def fitted():
    return make(LargeMvCNet, 3, **QUICK).fit(some_views())


def same(one, other):
    assert all(torch.equal(dense(x), dense(y)) for x, y in zip(one.rows, other.rows, strict=True))
    assert torch.equal(one.present, other.present)
    assert torch.equal(one.corrupt, other.corrupt)


def bytes_of_a_row(fitted, views):
    return row_bytes(next(iter(Passes(fitted.inputs_, views))))


@pytest.mark.parametrize("kept_rows", [10_000, 1500, 700, 255, 0])
def test_every_pass_gives_the_same_bits_however_much_is_kept(fitted, small_pieces, kept_rows):
    views = some_views()
    anew = list(fitted.inputs_.stream(views, fitted.inputs_.chunks(views)))
    assert sum(int(piece.corrupt.sum()) for piece in anew) > 0
    data = Passes(fitted.inputs_, views, cache_bytes=kept_rows * bytes_of_a_row(fitted, views))
    for _ in range(3):
        pieces = list(data)
        assert len(pieces) == len(anew) == 6
        for one, other in zip(pieces, anew, strict=True):
            same(one, other)


@pytest.mark.parametrize(("kept_rows", "again"), [(1500, 0), (1499, 1), (700, 4), (0, 6)])
def test_only_pieces_beyond_the_budget_are_prepared_again(
    fitted, small_pieces, monkeypatch, kept_rows, again
):
    views, read = some_views(), []
    budget = kept_rows * bytes_of_a_row(fitted, views)
    see = inputs.Inputs.prepare
    monkeypatch.setattr(inputs.Inputs, "prepare", lambda *args: read.append(1) or see(*args))
    data = Passes(fitted.inputs_, views, cache_bytes=budget)
    counts = []
    for _ in range(3):
        read.clear()
        assert sum(len(piece.present) for piece in data) == 1500
        counts.append(len(read))
    assert counts == [6, again, again]


def test_a_process_keeps_its_own_share(fitted, small_pieces):
    class Second(Alone):
        rank, size = 1, 2

    views = some_views()
    data = Passes(fitted.inputs_, views, Second())
    anew = list(fitted.inputs_.stream(views, data.chunks))
    assert data.first == data.chunks[0].start > 0
    for _ in range(2):
        for one, other in zip(data, anew, strict=True):
            same(one, other)


def test_a_row_of_four_views_and_all_of_them_takes_174_bytes():
    rng = np.random.default_rng(0)
    views = as_views([rng.normal(size=(300, 5)).astype(np.float32) for _ in range(4)])
    model = make(LargeMvCNet, 3, **QUICK).fit(views)
    piece = next(iter(Passes(model.inputs_, views)))
    assert row_bytes(piece) == 5 * 5 * (2 + 4) + 5 * 4 + 4
    kept = RowCache(piece, 300)
    assert sum(table.numel() * table.element_size() for table in kept._tables) == 300 * row_bytes(piece)


def test_columns_are_not_kept(small_pieces):
    views = some_views()
    model = make(LargeMvCNet, 3, features="columns", **QUICK).fit(views)
    data = Passes(model.inputs_, views)
    assert len(list(data)) == len(list(data)) == 6
    assert data._cache is None


def test_many_landmarks_are_named_by_wider_integers(fitted):
    piece = next(iter(Passes(fitted.inputs_, some_views())))
    wide = [type(x)(x.columns + 2**15, x.values, x.width + 2**15) for x in piece.rows]
    many = inputs.FeatureBatch(wide, piece.present, piece.corrupt)
    kept = RowCache(many, len(piece.present))
    kept.put(slice(0, len(piece.present)), many)
    for one, other in zip(kept.get(slice(0, len(piece.present))).rows, wide, strict=True):
        assert torch.equal(one.columns, other.columns.int())


@pytest.mark.parametrize("params", [{}, {"n_layers": 4, "noise": False}, {"max_epochs": 2}])
def test_a_fit_that_keeps_nothing_is_a_fit_that_keeps_all(small_pieces, monkeypatch, params):
    views = some_views()
    whole = make(LargeMvCNet, 3, **params, **QUICK).fit(views)
    monkeypatch.setattr(inputs, "_CACHE_BYTES", 0)
    anew = make(LargeMvCNet, 3, **params, **QUICK).fit(views)
    np.testing.assert_array_equal(anew.labels_, whole.labels_)
    np.testing.assert_array_equal(anew.row_weights_, whole.row_weights_)
    np.testing.assert_array_equal(anew.transform(views), whole.transform(views))
    np.testing.assert_array_equal(whole.predict(views), whole.labels_)
    for row in (0, 5, 1499):
        np.testing.assert_array_equal(whole.predict(views.select([row])), whole.labels_[[row]])


def test_rows_that_are_lost_after_the_first_pass_are_missed_only_where_they_are_read_again(
    tmp_path, monkeypatch, small_pieces
):
    rows = some_views().read(slice(None))
    expected = make(LargeMvCNet, 3, **QUICK).fit(rows).labels_
    sweep = fitting.sweep

    def then_cut(*args, **options):
        value = sweep(*args, **options)
        np.save(tmp_path / "view0.npy", rows[0][:100])
        return value

    monkeypatch.setattr(fitting, "sweep", then_cut)
    for budget in (2**28, 0):
        monkeypatch.setattr(inputs, "_CACHE_BYTES", budget)
        for v, x in enumerate(rows):
            np.save(tmp_path / f"view{v}.npy", x)
        views = as_views([np.load(tmp_path / f"view{v}.npy", mmap_mode="r") for v in range(2)])
        if budget:
            np.testing.assert_array_equal(make(LargeMvCNet, 3, **QUICK).fit(views).labels_, expected)
        else:
            with pytest.raises(InputError, match=r"view0\.npy changed while it was being read"):
                make(LargeMvCNet, 3, **QUICK).fit(views)


@pytest.mark.parametrize("n_rows", [1, 256, 1500])
def test_rows_meet_landmarks_and_guards_in_parts_of_one_size(fitted, monkeypatch, n_rows):
    sizes = set()
    for module, name in ((distances, "top_columns"), (outliers, "squared_distances")):
        compare = getattr(module, name)

        def watched(rows, *others, compare=compare, name=name):
            sizes.add((name, len(rows)))
            return compare(rows, *others)

        monkeypatch.setattr(module, name, watched)
    views = some_views().select(slice(0, n_rows))
    assert [len(piece.present) for piece in Passes(fitted.inputs_, views)] == [n_rows]
    assert sizes == {("top_columns", 256), ("squared_distances", 256)}
