"""What people look at: the HTML report, and figures for notebooks."""

from coterie.explore.plots import plot_compare, plot_map, plot_sizes
from coterie.explore.report import write_report

__all__ = ["plot_compare", "plot_map", "plot_sizes", "write_report"]
