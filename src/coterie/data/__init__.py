"""Data: views of rows in memory or on disk, their readers, scaling, built-in sets, removal of views."""

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
from coterie.data.readers.identifiers import Identifiers, read_identifiers
from coterie.data.scaling import Scaler
from coterie.data.views import Views, as_views

__all__ = [
    "DataSet",
    "Identifiers",
    "Scaler",
    "Views",
    "amputate",
    "as_views",
    "column_names",
    "load_digits",
    "load_multiview_digits",
    "read_identifiers",
    "read_label_names",
    "read_labels",
    "read_pairs",
    "read_some_labels",
    "read_views",
]
