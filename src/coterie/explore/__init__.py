"""What people look at: the HTML report."""

from coterie.explore.report import write_report

__all__ = ["write_report"]
