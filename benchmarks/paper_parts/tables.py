"""The tables of parts by method."""

from benchmarks.paper_parts import fucsmf, largemvc, mvsib, pcx, sscnet

PAPERS = {module.PAPER.method: module.PAPER for module in (pcx, sscnet, mvsib, largemvc, fucsmf)}
