"""A finished run that every file of tests has for itself."""

import csv

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from tests.cli.helpers import FAST

from coterie.cli import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A CSV, its truth, and a finished run."""
    place = tmp_path_factory.mktemp("cli")
    X, y = make_blobs(150, n_features=5, centers=3, random_state=0)
    with (place / "rows.csv").open("w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow([f"f{i}" for i in range(5)])
        writer.writerows(X)
    np.savetxt(place / "truth.txt", y, fmt="%d")
    assert run(["fit", str(place / "rows.csv"), "-k", "3", "--out", str(place / "run"), *FAST]) == 0
    return place
