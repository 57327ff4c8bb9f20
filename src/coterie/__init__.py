"""Find the groups in large, messy data and show why.

Names are imported when they are first used, so that `import coterie` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from coterie.data import Views, amputate, as_views, read_labels, read_views
    from coterie.errors import InputError
    from coterie.explore import write_report
    from coterie.methods.base import load
    from coterie.methods.choosing.clusters import choose_k
    from coterie.methods.choosing.recommend import recommend
    from coterie.methods.fucsmf import FUCSMF, FUCSMFOptions
    from coterie.methods.graph_clustering import GraphClustering
    from coterie.methods.largemvc import LargeMvCNet, LargeMvCNetOptions
    from coterie.methods.mvsib import MVSIB, MVSIBOptions
    from coterie.methods.pcx import PCX, PCXOptions
    from coterie.methods.refine import refine
    from coterie.methods.sscnet import SSC, SSCNet, SSCNetOptions

_HOMES = {
    "FUCSMF": "coterie.methods.fucsmf",
    "FUCSMFOptions": "coterie.methods.fucsmf",
    "GraphClustering": "coterie.methods.graph_clustering",
    "InputError": "coterie.errors",
    "LargeMvCNet": "coterie.methods.largemvc",
    "LargeMvCNetOptions": "coterie.methods.largemvc",
    "MVSIB": "coterie.methods.mvsib",
    "MVSIBOptions": "coterie.methods.mvsib",
    "PCX": "coterie.methods.pcx",
    "PCXOptions": "coterie.methods.pcx",
    "SSC": "coterie.methods.sscnet",
    "SSCNet": "coterie.methods.sscnet",
    "SSCNetOptions": "coterie.methods.sscnet",
    "Views": "coterie.data",
    "amputate": "coterie.data",
    "as_views": "coterie.data",
    "choose_k": "coterie.methods.choosing.clusters",
    "load": "coterie.methods.base",
    "read_labels": "coterie.data",
    "read_views": "coterie.data",
    "recommend": "coterie.methods.choosing.recommend",
    "refine": "coterie.methods.refine",
    "write_report": "coterie.explore",
}

__all__ = [
    "FUCSMF",
    "MVSIB",
    "PCX",
    "SSC",
    "FUCSMFOptions",
    "GraphClustering",
    "InputError",
    "LargeMvCNet",
    "LargeMvCNetOptions",
    "MVSIBOptions",
    "PCXOptions",
    "SSCNet",
    "SSCNetOptions",
    "Views",
    "__version__",
    "amputate",
    "as_views",
    "choose_k",
    "load",
    "read_labels",
    "read_views",
    "recommend",
    "refine",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
