"""Write the table of packages that coterie installs, with the licences that they declare: python docs/supply.py.

With a path, ``python docs/supply.py bom.json`` writes a software bill of materials there (CycloneDX 1.5): coterie,
all that it installs with its extras, what these install in turn, and who needs what.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "supply.md"
EXTRAS = ("explore", "hdf5", "zarr", "parquet", "omics", "images")
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
    "plotly": "the figures of the report and the page",
    "openTSNE": "the map of the rows",
    "fastapi": "the addresses of the page",
    "uvicorn": "the server of the page",
    "pyarrow": "Parquet files",
    "h5py": "HDF5 and MATLAB 7.3 files",
    "zarr": "Zarr stores",
    "anndata": "AnnData files",
    "mudata": "MuData files",
    "pillow": "files of pictures",
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


def needed(package: str, extras: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """Return the installed packages that a package needs on this machine, with the extras asked of each."""
    found = {}
    for line in requires(package) or []:
        requirement = Requirement(line)
        marker, name = requirement.marker, canonicalize_name(requirement.name)
        if marker is not None and not any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        try:
            version(name)
        except PackageNotFoundError:  # an extra that nobody asked for here
            continue
        found[name] = tuple(sorted(requirement.extras))
    return found


def bill_of_materials() -> dict[str, Any]:
    """Return coterie and everything below it that is installed, as CycloneDX 1.5."""
    open_, edges = [("coterie", EXTRAS)], {}
    while open_:
        name, extras = open_.pop()
        below = needed(name, extras)
        below.pop("coterie", None)
        fresh = [(other, wanted) for other, wanted in below.items() if other not in edges]
        edges[name] = sorted({*edges.get(name, []), *below})
        open_ += fresh
    reference = {name: f"pkg:pypi/{name}@{version(name)}" for name in sorted(edges)}

    def component(name: str) -> dict[str, Any]:
        about = {"type": "library", "bom-ref": reference[name], "name": name, "version": version(name)}
        declared = {"licenses": [{"license": {"name": licence(name)}}]} if licence(name) else {}
        return {**about, "purl": reference[name], **declared}

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component("coterie")},
        "components": [component(name) for name in reference if name != "coterie"],
        "dependencies": [
            {"ref": reference[name], "dependsOn": [reference[other] for other in edges[name]]}
            for name in reference
        ],
    }


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
    for path in sys.argv[1:]:
        Path(path).write_text(json.dumps(bill_of_materials(), indent=1) + "\n")
    PAGE.write_text(written(PAGE.read_text()))
