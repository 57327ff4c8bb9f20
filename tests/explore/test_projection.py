import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from coterie.errors import InputError
from coterie.explore.projection import project


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(1, d + 1)


def test_pca_keeps_the_directions_of_largest_spread():
    found = project(rows(), "pca").coordinates
    spread = np.linalg.svd(rows() - rows().mean(axis=0), compute_uv=False)
    assert np.linalg.norm(found, axis=0) == pytest.approx(spread[:2])


def test_one_column_is_laid_out_on_a_line():
    projection = project(rows(d=1), "pca")
    assert projection.coordinates.shape == (60, 2)
    assert (projection.coordinates[:, 1] == 0).all()


@pytest.mark.parametrize("how", ["auto", "tsne", "pca"])
def test_one_column_and_rows_that_are_all_the_same_are_never_given_to_tsne(how):
    line = project(rows(d=1), how)
    assert line.method == "PCA"
    assert np.ptp(line.coordinates[:, 0]) == pytest.approx(np.ptp(rows(d=1)))
    same = project(np.ones((30, 3)), how)
    assert same.method == "PCA"
    assert (same.coordinates == 0).all()


def test_auto_draws_two_columns_as_they_are():
    projection = project(rows(d=2))
    assert projection.method == "embedding"
    np.testing.assert_array_equal(projection.coordinates, rows(d=2))


def test_auto_is_tsne_with_many_rows_and_pca_with_few():
    assert project(rows(n=30)).method == "t-SNE"
    assert project(rows(n=10)).method == "PCA"


def test_tsne_keeps_far_groups_apart_and_repeats_with_its_seed():
    wide = np.concatenate([rows(40, 60), rows(40, 60, seed=1) + 500])
    one, two = (project(wide, "tsne", random_state=3).coordinates for _ in range(2))
    np.testing.assert_array_equal(one, two)
    inside = max(np.linalg.norm(g - g.mean(axis=0), axis=1).mean() for g in (one[:40], one[40:]))
    assert np.linalg.norm(one[:40].mean(axis=0) - one[40:].mean(axis=0)) > 2 * inside


def test_without_opentsne_auto_is_pca_and_tsne_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert project(rows()).method == "PCA"
    with pytest.raises(InputError, match=r"needs openTSNE: pip install 'coterie\[explore\]'"):
        project(rows(), "tsne")


def test_an_unknown_way_is_refused():
    with pytest.raises(InputError, match="'auto', 'tsne' or 'pca', not 'umap'"):
        project(rows(), "umap")


def test_importing_the_explorer_imports_neither_torch_nor_plotly_nor_opentsne():
    code = "import sys, coterie.explore; print(sorted({'torch', 'plotly', 'openTSNE'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
