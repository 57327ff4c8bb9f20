"""Files of models and checkpoints: a zip of `manifest.json` and `tensors.safetensors`, written atomically.

Nothing in such a file can run code. Its manifest holds a SHA-256 digest of every tensor and of the rest of the
manifest, so that a file in which tensors were exchanged, or a value edited, is refused. The digests are no
signature: whoever can write the file can compute them again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import safetensors
import safetensors.numpy

from coterie.errors import InputError

SCHEMA = 2
Entry = TypeVar("Entry")
_MANIFEST = "manifest.json"
_TENSORS = "tensors.safetensors"
_MEMBERS = (_MANIFEST, _TENSORS)
_PART = ".part"
_DIGESTS = "digests"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    installed = {"python": platform.python_version()}
    for package in ("coterie", "numpy", "scikit-learn", "scipy", "torch"):
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder that replaces `path` when the block ends without an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with atomic_path(target) as draft:
    ...     _ = draft.write_text("complete")
    >>> target.read_text()
    'complete'
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(
            f"Cannot write {target}: the folder {target.parent} does not exist; create it first."
        )
    if target.is_dir():
        raise InputError(f"Cannot write {target}: it is a folder; give the path of a file.")
    draft = None
    try:
        draft = _new_draft(target)
        yield draft
        with draft.open("rb+") as written:
            os.fsync(written.fileno())
        draft.chmod(0o666 & ~_umask())
        draft.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror or error}.") from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def remove_drafts(folder: Path) -> None:
    """Remove the temporary files of a killed process; no other process may be writing in the folder.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> (folder / ".labels.csv.ab12.part").touch()
    >>> remove_drafts(folder)
    >>> list(folder.iterdir())
    []
    """
    for draft in folder.glob(f".*{_PART}"):
        draft.unlink(missing_ok=True)


def _new_draft(target: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_PART, dir=target.parent)
    os.close(handle)
    return Path(name)


def _sync_folder(folder: Path) -> None:
    """Write the entries of a folder to disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_archive(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], tensors: Mapping[str, np.ndarray]
) -> None:
    """Write a JSON manifest and named arrays to `path` atomically.

    The manifest gets `format`, `schema`, `versions` and the `digests` of all that is written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.coterie"
    >>> write_archive(path, {"kind": "model"}, {"centers": np.eye(2)})
    >>> manifest, tensors = read_archive(path)
    >>> manifest["kind"], tensors["centers"].shape
    ('model', (2, 2))
    """
    head = {"format": "coterie", "schema": SCHEMA, "versions": versions(), **manifest}
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    head[_DIGESTS] = _digests(head, arrays)
    body = safetensors.numpy.save(arrays)
    with atomic_path(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_MANIFEST, json.dumps(head, indent=1, allow_nan=True))
        archive.writestr(_TENSORS, body)


def read_archive(
    path: str | os.PathLike[str], remedy: str = "copy it again, or make it anew"
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read what `write_archive` wrote; raise one sentence, with a `remedy`, where the file is damaged.

    The checksums of the zip detect every flipped bit, and the digests of the manifest every exchanged or edited
    member. Files of schema 1 have no digests; they are read as they are.

    Examples
    --------
    >>> read_archive("no-such-file.coterie")
    Traceback (most recent call last):
    coterie.errors.InputError: There is no file no-such-file.coterie.
    """
    source = Path(path)
    if source.is_dir():
        raise InputError(
            f"{source} is a folder: give the file of the model, such as {source / 'model.coterie'}."
        )
    if not source.is_file():
        raise InputError(f"There is no file {source}.")
    try:
        with zipfile.ZipFile(source) as archive:
            if len(archive.namelist()) > len(_MEMBERS):
                raise InputError(f"{source} is a zip that holds more than a coterie file does.")
            manifest, arrays = _manifest(archive, source), _tensors(archive, source)
            _check_digests(manifest, arrays, source, remedy)
            return manifest, arrays
    except (
        zipfile.BadZipFile,
        safetensors.SafetensorError,
        EOFError,
        LookupError,  # dtypes that NumPy does not have
        OSError,
        ValueError,
        RuntimeError,  # encrypted members, and NotImplementedError for other zip formats
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{source} is not a whole coterie file ({_first_line(error)}): it is truncated, damaged or of another "
            f"program; {remedy}."
        ) from error


def lock(handle: int | IO[Any], sentence: str) -> None:
    """Keep other processes from locking an open file or folder, where the system can.

    Raises an `InputError` with this sentence where another has locked it. The lock ends with the handle, also in a
    process that is killed.
    """
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(sentence) from None
    except (ImportError, OSError):  # a system, or a file system, without locks
        return


def file_digest(path: Path) -> str:
    """Return the SHA-256 digest of a file, in hexadecimal.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "empty"
    >>> path.touch()
    >>> file_digest(path)[:12]
    'e3b0c44298fc'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digests(manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return the digest of the manifest without its digests, and of each array with its type and shape."""
    rest = json.loads(json.dumps({key: value for key, value in manifest.items() if key != _DIGESTS}))
    head = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    return {"manifest": head, "tensors": {name: _array_digest(array) for name, array in arrays.items()}}


def _array_digest(array: np.ndarray) -> str:
    digest = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _check_digests(
    manifest: dict[str, Any], arrays: Mapping[str, np.ndarray], source: Path, remedy: str
) -> None:
    """Raise one sentence that names the member that is not what was written."""
    stored = manifest.get(_DIGESTS, {})
    if manifest["schema"] < 2 and not stored:
        return
    if not isinstance(stored, dict) or not isinstance(stored.get("tensors"), dict):
        raise InputError(f"{source}: {_MANIFEST} holds no digests of its members; {remedy}.")
    computed, wrong = _digests(manifest, arrays), None
    if stored.get("manifest") != computed["manifest"]:
        wrong = _MANIFEST
    else:
        written, found = stored["tensors"], computed["tensors"]
        names = [name for name in sorted(written | found) if written.get(name) != found.get(name)]
        wrong = f"{_TENSORS}, {names[0]!r}" if names else None
    if wrong is not None:
        raise InputError(
            f"{source}: {wrong} is not what coterie wrote there, so the file was changed or put together from "
            f"others; {remedy}."
        )


def text_cell(text: str) -> str:
    """Return a text for a CSV so that no spreadsheet takes it for a formula: with an apostrophe where it could.

    A carriage return becomes a space: Python's csv does not quote it, and readers end the row there.

    Examples
    --------
    >>> text_cell("cats"), text_cell("=1+2")
    ('cats', "'=1+2")
    """
    start = "'" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else ""
    return start + text.replace("\r", " ")


def below(prefix: str, entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the entries whose names start with a prefix, without it."""
    return {name.removeprefix(prefix): entry for name, entry in entries.items() if name.startswith(prefix)}


def _manifest(archive: zipfile.ZipFile, source: Path) -> dict[str, Any]:
    head = json.loads(_member(archive, _MANIFEST, source))
    if not isinstance(head, dict) or head.get("format") != "coterie":
        raise InputError(f"{source} is a zip, but not one that coterie wrote.")
    if not isinstance(head.get("schema"), int) or head["schema"] > SCHEMA:
        raise InputError(
            f"{source} has file schema {head.get('schema')}, this coterie reads up to {SCHEMA}; upgrade coterie."
        )
    return head


def _tensors(archive: zipfile.ZipFile, source: Path) -> dict[str, np.ndarray]:
    arrays = safetensors.numpy.load(_member(archive, _TENSORS, source))
    return {name: np.array(array) for name, array in arrays.items()}


def _member(archive: zipfile.ZipFile, name: str, source: Path) -> bytes:
    """Return a stored member; a compressed one, or one larger than the file, could be a decompression bomb."""
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise InputError(f"{source} is a zip without {name}, so not a coterie file.") from None
    sizes = {info.file_size, info.compress_size}
    if info.compress_type != zipfile.ZIP_STORED or len(sizes) > 1 or info.file_size > source.stat().st_size:
        raise InputError(f"{source} holds {name} in a form that coterie never writes.")
    return archive.read(info)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
