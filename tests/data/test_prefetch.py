"""Prefetching on another thread."""

import threading

import pytest

from coterie.data.batches import prefetch


def test_pieces_come_in_order_and_at_most_one_is_prefetch():
    read, reader = [], set()

    def note(key):
        read.append(key)
        reader.add(threading.get_ident())
        return -key

    pieces = prefetch(note, iter(range(5)))
    assert next(pieces) == 0
    assert len(read) <= 2
    assert list(pieces) == [-1, -2, -3, -4]
    assert read == list(range(5))
    assert threading.get_ident() not in reader


def test_nothing_to_read_gives_nothing():
    assert list(prefetch(str, [])) == []


def test_an_error_of_the_reader_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(prefetch(lambda number: 1 // number, [1, 0]))
