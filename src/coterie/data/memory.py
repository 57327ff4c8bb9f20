"""Rows in memory or on disk: which of the two suits this machine."""

from __future__ import annotations

import os
from pathlib import Path

from coterie.data.sources import DenseRows, Source
from coterie.data.views import Views

SHARE = 0.25
"""The share of the available memory that rows may take; beyond it they stay on disk."""

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def available_bytes() -> int:
    """Return how much memory a new program may take: what the system calls available, or a container's limit."""
    found = [_physical()]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        found += [int(_CGROUP.read_text())]
    except (OSError, ValueError):  # not Linux, or a container without a limit ("max")
        pass
    return min(found)


def _physical() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def fits(views: Views) -> bool:
    """Whether rows are in memory already, or would take no more of it than `SHARE`.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.data import as_views
    >>> fits(as_views(np.eye(3)))
    True
    """
    return views.in_memory or views.nbytes <= SHARE * available_bytes()


def into_memory(views: Views) -> Views:
    """Read what is on disk once and for all; what is in memory stays as it is.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from coterie.data import read_views
    >>> path = tempfile.mkdtemp() + "/rows.npy"
    >>> np.save(path, np.eye(3))
    >>> read_views(path).in_memory, into_memory(read_views(path)).in_memory
    (False, True)
    """
    return Views(
        [_held(source) for source in views.sources],
        names=views.names,
        mask=views.present,
        labels=views.labels,
        feature_names=views.feature_names,
    )


def _held(source: Source) -> Source:
    return DenseRows(source.read(slice(0, source.shape[0]))) if source.on_disk else source
