"""Whether rows fit into memory, and reading them into it."""

from __future__ import annotations

import os
from pathlib import Path

from coterie.data.sources import DenseRows
from coterie.data.views import Views

SHARE = 0.25
"""The share of the available memory that rows may take; beyond it they stay on disk."""

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def available_bytes() -> int:
    """Return the memory a new program may take: what the system calls available, or a container's limit."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        limits += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        limits += [int(_CGROUP.read_text())]
    except (OSError, ValueError):  # not Linux, or a container without a limit ("max")
        pass
    return min(limits)


def fits(views: Views) -> bool:
    """Return whether the rows are in memory, or would take at most `SHARE` of what is available."""
    return views.in_memory or views.nbytes <= SHARE * available_bytes()


def into_memory(views: Views) -> Views:
    """Read the views that are on disk into memory."""
    return views.copy(
        sources=[
            DenseRows(source.read(slice(0, views.n_rows))) if source.on_disk else source
            for source in views.sources
        ]
    )
