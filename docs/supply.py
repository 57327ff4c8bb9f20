"""Write the table of packages that coterie installs, with the licences that they declare: python docs/supply.py."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "supply.md"
EXTRAS = ("explore", "hdf5", "zarr", "parquet", "omics")
REASONS = {
    "numpy": "arrays",
    "scipy": "sparse matrices, solvers, readers of MATLAB files",
    "scikit-learn": "the API that estimators follow, k-means, scores",
    "torch": "networks, gradients, several processes",
    "safetensors": "tensors in files that hold no code",
    "typer": "the command line",
    "rich": "progress on a terminal",
    "faiss-cpu": "nearest neighbours of many rows",
    "graspologic-native": "communities of a graph (Leiden)",
    "narwhals": "DataFrames of pandas, polars and pyarrow",
    "plotly": "the figures of the report and the page",
    "openTSNE": "the map of the rows",
    "fastapi": "the addresses of the page",
    "uvicorn": "the server of the page",
    "pyarrow": "Parquet files",
    "h5py": "HDF5 and MATLAB 7.3 files",
    "zarr": "Zarr stores",
    "anndata": "AnnData files",
    "mudata": "MuData files",
}


def dependencies() -> dict[str, str]:
    """Return the packages that pyproject.toml names, without those for development, and what installs each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"always": project["dependencies"]}
    groups |= {extra: project["optional-dependencies"][extra] for extra in EXTRAS}
    found: dict[str, str] = {}
    for group, requirements in groups.items():
        for requirement in requirements:
            name = re.match(r"[\w.-]+", requirement)[0]
            found[name] = f"{found[name]}, {group}" if name in found else group
    return found


def licence(package: str) -> str:
    """Return the licence that an installed package declares."""
    about = metadata(package)
    classified = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or []
        if line.startswith("License :: OSI Approved :: ")
    ]
    declared = about.get("License-Expression") or ", ".join(classified) or about.get("License") or ""
    return declared.partition("\n")[0]


def table() -> str:
    """Return the table of the page."""
    lines = ["| package | licence it declares | installed with | what for |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {licence(name)} | {group} | {REASONS[name]} |" for name, group in dependencies().items()
    ]
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """Return the text of the page with the table of today."""
    head, _, rest = page.partition("<!-- table -->\n")
    return head + "<!-- table -->\n" + table() + "<!-- end -->\n" + rest.partition("<!-- end -->\n")[2]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
