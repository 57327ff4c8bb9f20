"""Find the groups in large, messy data and show why.

Names are imported when they are first used, so that `import coterie` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from coterie.data import Views, amputate, as_views, read_labels, read_views
    from coterie.errors import InputError
    from coterie.explore import plot_compare, plot_map, plot_sizes, write_report
    from coterie.methods.base import load
    from coterie.methods.choosing.clusters import choose_k
    from coterie.methods.choosing.recommend import recommend
    from coterie.methods.fucsmf import FUCSMF, FUCSMFOptions
    from coterie.methods.graph_clustering import GraphClustering, cluster_graph
    from coterie.methods.largemvc import LargeMvCNet, LargeMvCNetOptions
    from coterie.methods.mvsib import MVSIB, MVSIBOptions
    from coterie.methods.pcx import PCX, PCXOptions
    from coterie.methods.refine import refine
    from coterie.methods.sscnet import SSC, SSCNet, SSCNetOptions

_HOMES = {
    "coterie.data": ("Views", "amputate", "as_views", "read_labels", "read_views"),
    "coterie.errors": ("InputError",),
    "coterie.explore": ("plot_compare", "plot_map", "plot_sizes", "write_report"),
    "coterie.methods.base": ("load",),
    "coterie.methods.choosing.clusters": ("choose_k",),
    "coterie.methods.choosing.recommend": ("recommend",),
    "coterie.methods.fucsmf": ("FUCSMF", "FUCSMFOptions"),
    "coterie.methods.graph_clustering": ("GraphClustering", "cluster_graph"),
    "coterie.methods.largemvc": ("LargeMvCNet", "LargeMvCNetOptions"),
    "coterie.methods.mvsib": ("MVSIB", "MVSIBOptions"),
    "coterie.methods.pcx": ("PCX", "PCXOptions"),
    "coterie.methods.refine": ("refine",),
    "coterie.methods.sscnet": ("SSC", "SSCNet", "SSCNetOptions"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}

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
    "cluster_graph",
    "load",
    "plot_compare",
    "plot_map",
    "plot_sizes",
    "read_labels",
    "read_views",
    "recommend",
    "refine",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
