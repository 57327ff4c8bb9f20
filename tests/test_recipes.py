"""Labels by any cluster: the function of the page."""

from pathlib import Path

import dask
import dask.array
import dask.bag
import joblib
import numpy as np
import pytest
from tests.test_docs import python_blocks

from coterie import MVSIB, LargeMvCNet, load
from coterie.methods.refine import refine

PAGE = Path(__file__).parents[1] / "docs" / "many-processes.md"
KINDS = np.arange(120) % 3
RNG = np.random.default_rng(0)
ONE, TWO = (4 * RNG.normal(size=(3, d))[KINDS] + RNG.normal(size=(120, d)) for d in (6, 5))
TWO[::7] = np.nan
RANGES = [slice(start, start + 25) for start in range(0, 120, 25)]


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    """The names that the page's code defines."""
    names: dict = {"__name__": "__main__"}  # as in a script: processes get such functions by their code
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for block in (one for one in python_blocks(PAGE) if "init_process_group" not in one):
            exec(compile(block, str(PAGE), "exec"), names)
    return names


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models of one view, of two with rows that lack the second, and a corrected one."""
    folder = tmp_path_factory.mktemp("models")
    one = LargeMvCNet(3, random_state=0).fit(ONE)
    made = {
        "one view": (one, ONE),
        "missing views": (LargeMvCNet(3, random_state=0).fit([ONE, TWO]), [ONE, TWO]),
        "trained": (MVSIB(3, max_epochs=2, hidden=(8,), random_state=0).fit([ONE, TWO]), [ONE, TWO]),
        "refined": (refine(one, ONE, {0: 0, 1: 1, 2: 2}).model(), ONE),
    }
    for name, (model, _) in made.items():
        model.save(folder / name)
    return {name: (str(folder / name), X) for name, (_, X) in made.items()}


def cut(X, rows):
    return [view[rows] for view in X] if isinstance(X, list) else X[rows]


@pytest.mark.parametrize("kind", ["one view", "missing views", "trained", "refined"])
def test_partitions_labelled_on_their_own_are_the_whole(kind, recipe, models):
    path, X = models[kind]
    parts = [cut(X, rows) for rows in RANGES]
    wanted = load(path).predict(X)
    assert len(np.unique(wanted)) == 3
    bag = dask.bag.from_sequence(parts, npartitions=3).map(recipe["label"], path=path)
    for found in ([recipe["label"](part, path) for part in parts], bag.compute(scheduler="threads")):
        np.testing.assert_array_equal(np.concatenate(found), wanted)


def test_joblib_labels_partitions_in_processes_of_its_own(recipe, models):
    path, X = models["missing views"]
    calls = (joblib.delayed(recipe["label"])(cut(X, rows), path) for rows in RANGES)
    found = joblib.Parallel(n_jobs=2)(calls)
    np.testing.assert_array_equal(np.concatenate(found), load(path).predict(X))


def test_dask_labels_the_blocks_of_an_array(recipe, models):
    path, X = models["one view"]
    wanted = load(path).predict(X)
    array = dask.array.from_array(X, chunks=(25, -1))
    blocks = array.map_blocks(recipe["label"], path=path, drop_axis=1, dtype=wanted.dtype)
    np.testing.assert_array_equal(blocks.compute(scheduler="threads"), wanted)
