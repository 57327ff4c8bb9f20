"""Class labels in files: their usual names, and encoding as integers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from coterie.data.readers.files import check_room
from coterie.errors import InputError

# In order of preference; compared in lower case.
LABEL_NAMES = (
    "label",
    "labels",
    "y",
    "gt",
    "truth",
    "gnd",
    "truelabel",
    "true_label",
    "true_labels",
    "ground_truth",
    "groundtruth",
    "class",
    "classes",
    "target",
)
_LARGEST = 2.0**63
_UNLABELLED = ("", "nan", "na", "n/a", "null", "none")


def label_columns(names: Sequence[str]) -> list[int]:
    """Return the columns that hold labels, the best first; a ``y`` next to an ``x`` is a coordinate.

    Examples
    --------
    >>> label_columns(["height", "Class", "y"])
    [2, 1]
    >>> label_columns(["x", "y", "label"])
    [2]
    """
    lower = [name.strip().lower() for name in names]
    wanted = [name for name in LABEL_NAMES if not (name == "y" and "x" in lower)]
    columns = [i for i, name in enumerate(lower) if name in wanted]
    return sorted(columns, key=lambda i: wanted.index(lower[i]))


def is_class_number(text: str) -> bool:
    """Return whether a cell can be a class number: a whole number, or empty.

    Examples
    --------
    >>> [is_class_number(text) for text in ("3", "3.0", "", "3.5", "3,5", "True")]
    [True, True, True, False, False, False]
    """
    try:
        return text.strip().lower() in _UNLABELLED or float(text).is_integer()
    except ValueError:
        return False


def encode_labels(values: Any, where: str) -> np.ndarray:
    """Return labels of any kind as integers: whole numbers as they are, strings in alphabetical order, -1 for none.

    Examples
    --------
    >>> encode_labels(["cat", "dog", "", "cat"], "labels.csv")
    array([ 0,  1, -1,  0])
    >>> encode_labels([3.0, float("nan")], "labels.csv")
    array([ 3, -1])
    """
    if not isinstance(values, list):
        array = np.asarray(values)
        if array.dtype.kind not in "biufUSO":
            raise InputError(
                f"The labels in {where} are {array.dtype}: write them as whole numbers or as text."
            )
        if array.dtype.kind in "biuf":
            return _whole_numbers(array, where)
        values = np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array
        values = values.ravel().tolist()
    known = _known_texts(values)
    words = _numbered_words(known)
    if not words:
        return _whole_numbers(np.array([float(text or "nan") for text in known], dtype=np.float64), where)
    codes = {text: code for code, text in enumerate(words)} | {"": -1}
    return np.array([codes[text] for text in known], dtype=np.int64)


def label_words(values: list[Any]) -> list[str]:
    """Return the distinct labels in the alphabetical order of their codes; none where all are numbers.

    Examples
    --------
    >>> label_words(["cat", "ant", "", "cat"]), label_words(["3", "1"])
    (['ant', 'cat'], [])
    """
    return _numbered_words(_known_texts(values))


def _numbered_words(known: list[str]) -> list[str]:
    words = sorted({*known} - {""})
    try:
        _ = [float(word) for word in words]
    except ValueError:
        return words
    return []


def _known_texts(values: list[Any]) -> list[str]:
    """Return labels as strings, empty where there is none; a list, for an array would pad all to the longest."""
    texts = [str(value).strip() for value in values]
    return ["" if text.lower() in _UNLABELLED else text for text in texts]


def _whole_numbers(array: np.ndarray, where: str) -> np.ndarray:
    if array.dtype.kind in "bi":
        return array.astype(np.int64)
    unknown = np.isnan(array)
    known = array[~unknown]
    if not ((np.abs(known) < _LARGEST).all() and (known == np.round(known)).all()):
        raise InputError(
            f"The labels in {where} are not whole numbers below 2^63: labels are classes, not measurements."
        )
    codes = np.full(array.shape, -1, dtype=np.int64)
    codes[~unknown] = known.astype(np.int64)
    return codes


def labels_among(entries: Mapping[str, Any], where: str, key: str = "label") -> np.ndarray | None:
    """Return the labels among named arrays: under `key` if present, otherwise under a usual name."""
    lower = {name.lower(): name for name in reversed(list(entries))}
    wanted = [key, lower.get(key.lower()), *(lower.get(name) for name in LABEL_NAMES)]
    for name in wanted:
        if name is not None and name in entries:
            vector = _vector(entries[name])
            if vector is not None:
                return encode_labels(vector, where)
    return None


def _vector(entry: Any) -> np.ndarray | None:
    """Return an entry as one label per row: a vector, a column, a row, a one-hot table or a cell array."""
    if isinstance(entry, list):
        if entry and all(np.asarray(item).dtype.kind in "US" for item in entry):
            return np.array(["".join(np.asarray(item).ravel().tolist()) for item in entry])
        return _vector(entry[0]) if entry else None
    if sparse.issparse(entry):
        try:
            check_room(8 * math.prod(entry.shape), entry.nnz)
        except ValueError:
            return None
    array = entry.toarray() if sparse.issparse(entry) else np.asarray(entry)
    if array.dtype.kind not in "biufUS" or array.ndim == 0:
        return None
    if array.ndim == 1 or (array.ndim == 2 and 1 in array.shape):
        return array.ravel()
    if array.ndim == 2 and array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all():
        for axis in (1, 0):
            if (array.sum(axis=axis) == 1).all():
                return array.argmax(axis=axis)
    return None
