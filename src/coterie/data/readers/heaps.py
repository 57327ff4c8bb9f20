"""The heaps of an HDF5 file in which texts of any length lie; libhdf5 walks a damaged one for ever."""

from __future__ import annotations

from pathlib import Path

_MARK = b"GCOL\x01\x00\x00\x00"
_HEAD = 16  # of a heap, and of each object in it
_PIECE = 16 * 2**20


def check_heaps(path: Path) -> None:
    """Refuse a file with a heap whose objects do not fill it one after the other; reads the file once.

    An object is its number (two bytes, 0 for the free room at the end), six bytes, its length (eight bytes) and its
    bytes, up to a multiple of eight. The length of the free room counts all of it.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        for start in range(0, size, _PIECE):
            file.seek(start)
            piece = file.read(_PIECE + len(_MARK) - 1)
            at = piece.find(_MARK)
            while at >= 0:
                if (start + at) % 8 == 0:
                    file.seek(start + at)
                    length = int.from_bytes(file.read(_HEAD)[8:], "little")
                    if length <= size - start - at:  # otherwise libhdf5 sees it, or these are numbers
                        _check_objects(file.read(length - _HEAD))
                at = piece.find(_MARK, at + 1)


def _check_objects(heap: bytes) -> None:
    at = 0
    while len(heap) - at >= _HEAD:
        number = int.from_bytes(heap[at : at + 2], "little")
        length = int.from_bytes(heap[at + 8 : at + _HEAD], "little")
        taken = _HEAD + -(-length // 8) * 8 if number else length
        if taken > len(heap) - at or (number == 0 and taken != len(heap) - at):
            raise ValueError("a heap of texts that is damaged")
        at += taken
