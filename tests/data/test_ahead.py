"""Reading ahead."""

import threading

import pytest

from coterie.data.ahead import read_ahead


def test_pieces_come_in_order_and_at_most_one_is_read_ahead():
    read, reader = [], set()

    def note(key):
        read.append(key)
        reader.add(threading.get_ident())
        return -key

    pieces = read_ahead(note, iter(range(5)))
    assert next(pieces) == 0
    assert len(read) <= 2
    assert list(pieces) == [-1, -2, -3, -4]
    assert read == list(range(5))
    assert threading.get_ident() not in reader


def test_nothing_to_read_gives_nothing():
    assert list(read_ahead(str, [])) == []


def test_an_error_of_the_reader_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(read_ahead(lambda number: 1 // number, [1, 0]))
