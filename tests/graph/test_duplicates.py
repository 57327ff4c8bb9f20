import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coterie.graph import duplicates
from coterie.graph.duplicates import first_of_equal, row_hashes


def everywhere(blocks):
    return np.ones((len(blocks[0]), len(blocks)), dtype=bool)


def random_blocks(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(-2, 3, size=(n, d)).astype(np.float32) for d in (3, 2)]


def test_rows_have_equal_hashes_where_they_are_equal_and_only_there():
    blocks = random_blocks()
    hashes = row_hashes(blocks, everywhere(blocks))
    contents = [tuple(row) for row in np.hstack(blocks).tolist()]
    for i in range(0, 200, 7):
        assert [hashes[i] == other for other in hashes] == [contents[i] == other for other in contents]


def test_a_row_has_the_same_hash_in_any_batch(monkeypatch):
    blocks = random_blocks()
    hashes = row_hashes(blocks, everywhere(blocks))
    for i in (0, 57, 199):
        alone = [block[i : i + 1] for block in blocks]
        assert row_hashes(alone, everywhere(alone))[0] == hashes[i]
    monkeypatch.setattr(duplicates, "_ROWS", 7)
    np.testing.assert_array_equal(row_hashes(blocks, everywhere(blocks)), hashes)


def test_a_row_has_the_same_hash_in_any_memory_order():
    blocks = random_blocks()
    turned = [np.asfortranarray(block) for block in blocks]
    np.testing.assert_array_equal(
        row_hashes(turned, everywhere(turned)), row_hashes(blocks, everywhere(blocks))
    )


def test_minus_zero_equals_zero():
    block = np.array([[0.0, 1.0], [-0.0, 1.0]], dtype=np.float32)
    hashes = row_hashes([block], everywhere([block]))
    assert hashes[0] == hashes[1]


def test_a_missing_view_is_not_a_view_of_zeros():
    blocks = [np.ones((2, 2), dtype=np.float32), np.zeros((2, 3), dtype=np.float32)]
    hashes = row_hashes(blocks, np.array([[True, True], [True, False]]))
    assert hashes[0] != hashes[1]


def test_what_stands_in_a_missing_view_changes_nothing():
    blocks = [np.ones((2, 2), dtype=np.float32), np.array([[5.0], [7.0]], dtype=np.float32)]
    hashes = row_hashes(blocks, np.array([[True, False], [True, False]]))
    assert hashes[0] == hashes[1]


def test_different_missing_views_are_different():
    blocks = [np.zeros((2, 2), dtype=np.float32), np.zeros((2, 2), dtype=np.float32)]
    hashes = row_hashes(blocks, np.array([[True, False], [False, True]]))
    assert hashes[0] != hashes[1]


def test_the_same_values_in_another_order_or_another_view_are_another_row():
    swapped = np.array([[1.0, 2.0], [2.0, 1.0]], dtype=np.float32)
    assert len(set(row_hashes([swapped], everywhere([swapped])).tolist())) == 2
    views = [np.array([[1.0], [2.0]], dtype=np.float32), np.array([[2.0], [1.0]], dtype=np.float32)]
    assert len(set(row_hashes(views, everywhere(views)).tolist())) == 2


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
def test_the_first_of_equal_rows_stands_for_all(values):
    first, groups = first_of_equal(np.array(values, dtype=np.uint64))
    assert first.tolist() == [i for i, value in enumerate(values) if value not in values[:i]]
    assert [values[first[group]] for group in groups] == values
