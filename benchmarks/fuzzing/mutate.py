"""Changes of bytes and of JSON trees that break what readers take for granted."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

Random = random.Random

EDGES = (
    0,
    1,
    2,
    127,
    255,
    256,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53,
    2**62,
    2**63 - 1,
    2**64 - 1,
)
_LARGEST = 200_000
_DEEP = "@deep@"
ODD: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 3, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, 1e-320,
    float("nan"), float("inf"), float("-inf"), "", "0", "auto", "../../up", "/etc/passwd", "\x00", "é\ud800",
    "x" * 3000, [], {}, [[]], [0], [-1, 2**40], {"__slice__": [0]}, {"__object__": "x"}, _DEEP,
)  # fmt: skip


def mutate_bytes(data: bytes, rng: Random) -> bytes:
    """Return the bytes with one to four things changed: bits, numbers, blocks or the length."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        rng.choice(_CHANGES)(changed, rng)
    return bytes(changed[:_LARGEST])


def random_bytes(rng: Random) -> bytes:
    """Return bytes of any length without any meaning."""
    return rng.randbytes(rng.choice((0, 1, 7, 64, 500, 5000)))


def _flip(data: bytearray, rng: Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 8))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _number(data: bytearray, rng: Random) -> None:
    """Overwrite some bytes with a number at the edge of its type."""
    size = rng.choice((1, 2, 4, 8))
    at = rng.randrange(max(1, len(data) - size))
    data[at : at + size] = (rng.choice(EDGES) % 256**size).to_bytes(size, rng.choice(("little", "big")))


def _cut(data: bytearray, rng: Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _drop(data: bytearray, rng: Random) -> None:
    at = rng.randrange(len(data) + 1)
    del data[at : at + rng.choice((1, 4, 16, 200))]


def _repeat(data: bytearray, rng: Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = data[at : at + rng.choice((1, 8, 64, 500))] * rng.choice((1, 2, 50))


def _move(data: bytearray, rng: Random) -> None:
    size = rng.choice((2, 16, 100))
    start, other = (rng.randrange(len(data) + 1) for _ in range(2))
    block = data[start : start + size]
    del data[start : start + size]
    data[other:other] = block


def _noise(data: bytearray, rng: Random) -> None:
    at = rng.randrange(len(data) + 1)
    size = rng.choice((1, 8, 64))
    data[at : at + size] = rng.randbytes(size) if rng.random() < 0.5 else bytes(size)


def _extend(data: bytearray, rng: Random) -> None:
    data += rng.randbytes(rng.choice((1, 100, 3000)))


_CHANGES = (_flip, _flip, _number, _number, _cut, _drop, _repeat, _move, _noise, _extend)


def mutate_json(tree: Any, rng: Random) -> str:
    """Return the text of a tree in which one to three values, keys or whole branches are wrong."""
    whole = [copy.deepcopy(tree)]  # so that the tree itself can be replaced, too
    for _ in range(rng.choice((1, 1, 2, 3))):
        holder, key = rng.choice(_places(whole))
        change = rng.random()
        if change < 0.6:
            holder[key] = _odd(holder[key], rng)
        elif change < 0.75 and holder is not whole:
            del holder[key]
        elif isinstance(holder, dict):
            holder[rng.choice(("", "__class__", "dtype", str(key) + "x"))] = _any(rng)
        elif holder is not whole:
            holder.insert(key, _any(rng))
    text = json.dumps(whole[0])
    depth = rng.choice((30, 990, 100_000))
    text = text.replace(json.dumps(_DEEP), "[" * depth + "]" * depth)
    if rng.random() < 0.05 and text.startswith("{"):  # a key twice
        text = "{" + text[1:-1] + "," + text[1:]
    return text


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Return every (holder, key) of a tree."""
    places, open_ = [], [tree]
    while open_:
        holder = open_.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            places.append((holder, key))
            if isinstance(holder[key], (dict, list)):
                open_.append(holder[key])
    return places or [(tree, 0)]


def _odd(value: Any, rng: Random) -> Any:
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.5:
        return rng.choice(
            (-value, value + 1, value - 1, value * 1000, value * 10**9, float(value), str(value))
        )
    return _any(rng)


def _any(rng: Random) -> Any:
    """Return a new edge value: two trees must not share a list."""
    return copy.deepcopy(rng.choice(ODD))
