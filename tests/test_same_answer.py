"""A fixed seed decides everything, also in another process with another order of hashes."""

import json
import os
import subprocess
import sys

import pytest

from coterie.methods.registry import METHODS

FITS = """
import hashlib, json
import numpy as np
from coterie import FUCSMF, MVSIB, PCX, GraphClustering, LargeMvCNet, SSCNet
from coterie.methods.sscnet import SSC

rng = np.random.default_rng(0)
kinds = np.arange(150) % 3
views = {name: 2 * rng.normal(size=(3, d))[kinds] + rng.normal(size=(150, d)) for name, d in (("one", 6), ("two", 5))}
taught = np.where(np.arange(150) < 12, kinds, -1)
fitted = [
    GraphClustering(3, random_state=0).fit(views),
    PCX(3, max_epochs=3, hidden=(16,), random_state=0).fit(views["one"]),
    LargeMvCNet(3, random_state=0).fit(views),
    MVSIB(3, max_epochs=3, hidden=(16,), random_state=0).fit(views),
    SSCNet(3, max_epochs=3, n_atoms=16, random_state=0).fit(views["one"]),
    SSC(3, random_state=0).fit(views["one"]),
    FUCSMF(random_state=0).fit(views, taught),
]
rows = {"GraphClustering": views, "MVSIB": views, "LargeMvCNet": views, "FUCSMF": views}
found = {}
for model in fitted:
    name = type(model).__name__
    memberships = model.predict_proba(rows.get(name, views["one"]))
    whole = model.labels_.astype(np.int64).tobytes() + np.ascontiguousarray(memberships).tobytes()
    found[name] = hashlib.sha256(whole).hexdigest()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def runs():
    """What two processes find; hashes of text differ between them."""
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", FITS],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
        )
        for seed in (1, 2)
    ]
    return [json.loads(process.communicate()[0].splitlines()[-1]) for process in started]


@pytest.mark.parametrize("method", [method.name for method in METHODS])
def test_labels_and_memberships_are_the_same_bit_for_bit_in_two_processes(runs, method):
    assert runs[0][method] == runs[1][method]
