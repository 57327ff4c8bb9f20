"""Data: views of rows in memory or on disk, their readers, scaling, built-in sets, removal of views."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from coterie.data.amputate import amputate
from coterie.data.builtin import DataSet, load_digits, load_multiview_digits
from coterie.data.readers import (
    column_names,
    read_label_names,
    read_labels,
    read_pairs,
    read_some_labels,
    read_views,
)
from coterie.data.scaling import Scaler
from coterie.data.views import Views, as_views

if TYPE_CHECKING:
    from coterie.data.describe.cells import CellRows
    from coterie.data.describe.images import ImageRows
    from coterie.data.describe.modalities import ModalityRows
    from coterie.data.describe.series import SeriesRows
    from coterie.data.describe.texts import TextRows, top_terms

# These import scikit-learn, which plain tables do without.
_LATER = {
    "CellRows": "cells",
    "ImageRows": "images",
    "ModalityRows": "modalities",
    "SeriesRows": "series",
    "TextRows": "texts",
    "top_terms": "texts",
}

__all__ = [
    "CellRows",
    "DataSet",
    "ImageRows",
    "ModalityRows",
    "Scaler",
    "SeriesRows",
    "TextRows",
    "Views",
    "amputate",
    "as_views",
    "column_names",
    "load_digits",
    "load_multiview_digits",
    "read_label_names",
    "read_labels",
    "read_pairs",
    "read_some_labels",
    "read_views",
    "top_terms",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'coterie.data' has no attribute {name!r}")
    return getattr(import_module(f"coterie.data.describe.{_LATER[name]}"), name)
