"""Files of known build with something wrong inside: .npy headers, zips with the right checksums, safetensors."""

from __future__ import annotations

import io
import json
import pickle
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from benchmarks.fuzzing.mutate import EDGES, Random, mutate_bytes, mutate_json

CANARY = "fuzz-was-executed"
_SHAPES = (
    "()", "(0,)", "(0, 3)", "(3, 0)", "(-1,)", "(-4, -3)", "(4, -3)", "(12,)", "(4, 3)", "(3, 4)", "(2, 2, 3)",
    "(1000000000000, 3)", "(3, 1000000000000)", "(4611686018427387904, 4)", "(9223372036854775807,)", "(2.0, 3)",
    "('a', 3)", "[4, 3]", "4", "None", "(True, 12)", "(1,) * 9", "((4, 3),)", "(" + "1, " * 40 + ")",
)  # fmt: skip
_KINDS = (
    "'<f4'", "'<f8'", "'>f8'", "'<f2'", "'|b1'", "'<i8'", "'<u2'", "'|u1'", "'<c16'", "'<U5'", "'|S7'", "'|O'",
    "'|V16'", "'<M8[s]'", "'<m8[Y]'", "'<f16'", "[('a', '<f4'), ('b', '|O')]", "[('a', '<f4', (2, 2))]", "'<U0'",
    "'|V0'", "'<f8,<f8'", "'nonsense'", "[]", "None", "[('a', '<f4', 2147483647)]", "'|S2147483647'", "{}",
)  # fmt: skip


class Bomb:
    """Unpickling it makes a file in the working directory: the sign that a reader executed what it read."""

    def __reduce__(self) -> tuple[object, ...]:
        return (open, (CANARY, "w"))


def npy(array: np.ndarray) -> bytes:
    """Return the array as a .npy file."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def odd_npy(rng: Random) -> bytes:
    """Return a .npy file whose header says what its body does not hold, or a pickle in its place."""
    if rng.random() < 0.1:
        return npy(np.array([Bomb(), 1], dtype=object)) if rng.random() < 0.5 else pickle.dumps(Bomb())
    order = rng.choice(("False", "True", "False", "1", "None", "'x'"))
    text = f"{{'descr': {rng.choice(_KINDS)}, 'fortran_order': {order}, 'shape': {rng.choice(_SHAPES)}, }}"
    if rng.random() < 0.1:
        text = rng.choice(
            ("{}", "[]", "1", "'descr'", "{'shape': (4, 3)}", "(" * 900, text + "#", text * 2, "\x00")
        )
    head = (text + " " * rng.choice((0, 10, 60)) + "\n").encode()
    version = rng.choice(((1, 0), (1, 0), (2, 0), (3, 0), (0, 0), (9, 9)))
    length = len(head) if rng.random() < 0.85 else rng.choice(EDGES) % 2**16
    size = struct.pack("<H", length) if version[0] < 2 else struct.pack("<I", length)
    return b"\x93NUMPY" + bytes(version) + size + head + rng.randbytes(rng.choice((0, 8, 48, 96, 97, 400)))


def pack_zip(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip of these members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, body in members.items():
            archive.writestr(zipfile.ZipInfo(name), body, compression)
    return file.getvalue()


def unpack_zip(data: bytes) -> dict[str, bytes]:
    """Return the members of a sound zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def odd_zip(data: bytes, rng: Random, odd_member: Callable[[str, bytes, Random], bytes]) -> bytes:
    """Return a zip in which a member is wrong though its checksum is right, or whose directory is wrong."""
    members = unpack_zip(data)
    name = rng.choice(list(members))
    what = rng.random()
    if what < 0.6:
        members[name] = odd_member(name, members[name], rng)
    elif what < 0.65:
        del members[name]
    elif what < 0.72:
        other = rng.choice(("../../up.npy", "/tmp/up.npy", "a/../b.npy", "", "view0", ".npy", "C:x.npy"))
        members[other] = members[name]
    elif what < 0.74:
        return _bomb(name)
    elif what < 0.8:
        return _doubled(members, name, rng)
    how = rng.choice((zipfile.ZIP_STORED,) * 3 + (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    packed = pack_zip(members, how)
    return _wrong_directory(packed, rng) if what > 0.9 else packed


@cache
def _bomb(name: str) -> bytes:
    """Return a zip that is a thousand times larger in memory, with nothing wrong in it."""
    return pack_zip({name: npy(np.zeros((5 * 2**20, 1)))}, zipfile.ZIP_DEFLATED)


def _doubled(members: Mapping[str, bytes], name: str, rng: Random) -> bytes:
    """Return a zip with a member twice, the second time damaged."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile says that a name comes twice
        for member, body in members.items():
            archive.writestr(zipfile.ZipInfo(member), body)
        archive.writestr(zipfile.ZipInfo(name), mutate_bytes(members[name], rng))
    return file.getvalue()


def _wrong_directory(data: bytes, rng: Random) -> bytes:
    """Change a field of an entry of the central directory: flags, kind of compression, checksum, sizes, offset."""
    at = data.rfind(b"PK\x01\x02") if rng.random() < 0.5 else data.find(b"PK\x01\x02")
    field, size = rng.choice(((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (42, 4)))
    wrong = (rng.choice(EDGES) % 256**size).to_bytes(size, "little")
    return data[: at + field] + wrong + data[at + field + size :]


def odd_safetensors(data: bytes, rng: Random) -> bytes:
    """Return safetensors whose header lies about names, kinds, shapes or places."""
    length = struct.unpack("<Q", data[:8])[0]
    head, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    what = rng.random()
    if what < 0.6:
        text = mutate_json(head, rng).encode(errors="surrogatepass")
    elif what < 0.8:
        entry = head[rng.choice([name for name in head if name != "__metadata__"])]
        entry["dtype"] = rng.choice(("F64", "F32", "F16", "BF16", "I8", "U8", "BOOL", "I64", "F8_E4M3", "X"))
        text = json.dumps(head).encode()
    else:
        text, body = json.dumps(head).encode(), mutate_bytes(body, rng)
    length = len(text) if rng.random() < 0.9 else rng.choice(EDGES)
    return struct.pack("<Q", length % 2**64) + text + body
