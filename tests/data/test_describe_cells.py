"""AnnData and MuData: what cells are compared by, and what is said of files that cannot be read."""

import warnings

import anndata
import h5py
import mudata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from coterie import GraphClustering, cluster_graph, tl
from coterie.data import as_views, read_views
from coterie.data.describe.cells import CellRows
from coterie.data.describe.modalities import ModalityRows
from coterie.data.readers.cells import open_cells
from coterie.errors import InputError
from coterie.metrics import accuracy

KIND = np.repeat([0, 1, 2], 30)


def cells(n_genes=80, dense=False):
    """Counts of three kinds of cells, of very different totals, in a sparse matrix."""
    rng = np.random.default_rng(0)
    means = rng.gamma(1.0, 1.0, (3, n_genes))
    depth = rng.uniform(0.3, 6.0, (len(KIND), 1))
    counts = rng.poisson(means[KIND] * depth).astype(np.float32)
    names = [f"cell{i}" for i in range(len(KIND))]
    made = anndata.AnnData(
        counts if dense else sparse.csr_matrix(counts),
        obs=pd.DataFrame({"label": KIND.astype(str)}, index=names),
        var=pd.DataFrame(index=[f"g{j}" for j in range(n_genes)]),
    )
    made.layers["counts"] = made.X.copy()
    return made


@pytest.fixture(scope="module")
def adata():
    return cells()


def test_counts_become_the_log_of_shares_of_the_median_total():
    counts = np.array([[1.0, 3.0, 0.0], [2.0, 0.0, 0.0], [0.0, 4.0, 4.0]])
    rows = CellRows().fit_transform(anndata.AnnData(counts))
    scaled = np.array([[r * 4 / sum(line) for r in line] for line in counts])  # the totals are 4, 2 and 8
    np.testing.assert_allclose(rows, np.log1p(scaled), rtol=1e-6)


def test_sparse_and_dense_counts_have_the_same_principal_axes(adata):
    of_sparse, of_dense = CellRows(n_axes=4).fit(adata), CellRows(n_axes=4).fit(cells(dense=True))
    ours, theirs = of_sparse.transform(adata), of_dense.transform(cells(dense=True))
    assert ours.shape == (90, 4)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=2e-3)
    np.testing.assert_allclose(ours.mean(axis=0), 0, atol=1e-4)
    variances = ours.var(axis=0)
    assert (np.diff(variances) < 0).all()


@pytest.mark.parametrize("dense", [False, True])
def test_a_cell_alone_has_the_row_it_has_among_others_and_after_saving(dense):
    own = cells(dense=dense)
    describe = CellRows(n_axes=7).fit(own)
    alone = CellRows.from_state(*describe.state()).transform(own[5:6].copy())
    np.testing.assert_array_equal(alone, describe.transform(own)[5:6])


def test_x_pca_is_taken_where_it_is_and_another_representation_where_it_is_named(adata):
    own = adata.copy()
    own.obsm["X_pca"], own.obsm["X_other"] = np.ones((90, 3)), np.zeros((90, 2))
    assert CellRows().fit_transform(own).shape == (90, 3)
    assert CellRows("X_other").fit_transform(own).shape == (90, 2)
    assert CellRows("X").fit(own).counts_
    assert CellRows(layer="counts").fit(own).counts_
    with pytest.raises(InputError, match=r"There is no obsm\['X_umap'\]: obsm has X_pca, X_other"):
        CellRows("X_umap").fit(own)
    with pytest.raises(InputError, match=r"There is no layer 'raw': layers has counts"):
        CellRows(layer="raw").fit(own)
    with pytest.raises(InputError, match="cannot both be taken"):
        CellRows("X_pca", layer="counts").fit(own)


def test_measurements_are_taken_as_they_are():
    rows = np.random.default_rng(0).normal(size=(20, 70)).astype(np.float32)
    np.testing.assert_array_equal(CellRows().fit_transform(anndata.AnnData(rows)), rows)


def test_genes_marked_as_variable_are_taken_alone_and_matched_by_name(adata):
    own = adata.copy()
    own.var["highly_variable"] = np.arange(80) % 2 == 0
    describe = CellRows(n_axes=4).fit(own)
    assert describe.columns_ == [f"g{j}" for j in range(0, 80, 2)]
    again = CellRows.from_state(*describe.state())
    turned = adata[:, ::-1].copy()
    np.testing.assert_allclose(again.transform(turned), describe.transform(own), atol=1e-4)
    with pytest.raises(InputError, match=r"The cells lack 20 genes of the fit .g0, g2"):
        again.transform(adata[:, 40:].copy())


def test_a_file_is_read_like_the_object_and_raw_counts_are_announced(adata, tmp_path):
    path = tmp_path / "cells.h5ad"
    adata.write(path)
    with pytest.warns(UserWarning, match=r"cells.h5ad holds raw counts, .*coterie.tl.cluster"):
        views = read_views(path)
    np.testing.assert_array_equal(views.read(slice(None))[0], adata.X.toarray())
    np.testing.assert_array_equal(views.labels, KIND)
    np.testing.assert_allclose(
        CellRows().fit_transform(open_cells(path)), CellRows().fit_transform(adata), atol=1e-4
    )


def test_cells_without_x_are_one_sentence(tmp_path):
    bare = anndata.AnnData(obs=pd.DataFrame(index=["a", "b"]), var=pd.DataFrame(index=["g"]))
    bare.layers["counts"] = np.ones((2, 1))
    bare.write(tmp_path / "bare.h5ad")
    with pytest.raises(InputError, match=r"bare.h5ad: The cells have no X: take a layer .*layers has counts"):
        read_views(tmp_path / "bare.h5ad")
    with pytest.raises(InputError, match="The cells have no X"):
        as_views(bare)


def test_a_file_that_is_no_anndata_is_one_sentence(tmp_path):
    with h5py.File(tmp_path / "x.h5ad", "w") as file:
        file["X"] = np.eye(3)
    with pytest.raises(
        InputError, match=r"x.h5ad is damaged or not a .h5ad .AnnData. file \(it has no obs\)"
    ):
        read_views(tmp_path / "x.h5ad")


def test_cluster_writes_labels_confidence_levels_and_map_into_the_object(adata):
    own = adata.copy()
    assert tl.cluster(own, 3, key_added="found") is None
    assert own.obs["found"].cat.categories.tolist() == ["0", "1", "2"]
    labels = own.obs["found"].astype(int).to_numpy()
    assert accuracy(KIND, labels) > 0.95
    assert own.obs["found_confidence"].between(1 / 3, 1).all()
    assert own.obsm["X_found"].shape == (90, 2)
    levels = own.uns["found"]["levels"].tolist()
    np.testing.assert_array_equal(own.obsm["found_levels"][:, levels.index(3)], labels)
    assert own.uns["found"]["rows"].startswith("raw counts were scaled")
    assert own.uns["found"]["sizes"].sum() == 90


def test_cluster_leaves_the_object_alone_when_a_copy_is_asked_for_and_survives_a_file(adata, tmp_path):
    before = adata.copy()
    clustered = tl.cluster(adata, 3, draw_map=False, copy=True)
    assert "coterie" not in adata.obs
    assert (adata.X != before.X).nnz == 0
    clustered.write(tmp_path / "done.h5ad")
    again = anndata.read_h5ad(tmp_path / "done.h5ad")
    assert again.obs["coterie"].tolist() == clustered.obs["coterie"].tolist()
    assert again.uns["coterie"]["params"]["n_clusters"] == 3


def test_connectivities_are_clustered_as_they_are(adata):
    own = adata.copy()
    own.obsp["connectivities"] = sparse.csr_matrix(np.equal.outer(KIND, KIND).astype(float))
    tl.cluster(own, 3, use_connectivities=True, draw_map=False)
    assert accuracy(KIND, own.obs["coterie"].astype(int).to_numpy()) == 1.0
    with pytest.raises(InputError, match=r"There is no obsp\['other'\] \(obsp has connectivities\)"):
        tl.cluster(own, 3, use_connectivities="other")


def test_a_ready_graph_is_clustered_as_graph_clustering_clusters_its_own():
    rng = np.random.default_rng(0)
    X = np.eye(3)[KIND] * 4 + rng.normal(size=(90, 3))
    from coterie.graph.model import build_graph

    reference = build_graph(as_views(X), by_content=True, seed=0)
    model = GraphClustering(3, random_state=0).fit(X)
    found = cluster_graph(reference.joined.matrix, 3, random_state=0)
    np.testing.assert_array_equal(found.labels, model.labels_[reference.nodes])
    np.testing.assert_allclose(found.confidence, model.confidence_[reference.nodes], rtol=1e-6)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones((3, 2)), r"shape \(3, 2\), but edge weights are a square matrix"),
        (-np.ones((3, 3)), "negative, NaN or infinite"),
        (np.ones((3, 3)), "n_clusters=4 is more than the 3 rows"),
    ],
)
def test_a_graph_that_is_none_is_one_sentence(weights, words):
    with pytest.raises(InputError, match=words):
        cluster_graph(weights, 4)


@pytest.fixture(scope="module")
def mdata(adata):
    protein = np.random.default_rng(1).normal(size=(60, 6)) + 5 * np.eye(6)[KIND[30:]]
    other = anndata.AnnData(
        protein.astype(np.float32),
        obs=pd.DataFrame(index=adata.obs_names[30:]),
        var=pd.DataFrame(index=[f"p{j}" for j in range(6)]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mudata.MuData({"rna": adata.copy(), "protein": other})


def test_modalities_are_views_and_cells_may_lack_them(mdata):
    describe = ModalityRows(n_axes=5).fit(mdata)
    views = describe.views(mdata)
    assert views.names == ("rna", "protein")
    assert views.dims == (5, 6)
    np.testing.assert_array_equal(
        views.present, np.column_stack([np.ones(90), np.arange(90) >= 30]).astype(bool)
    )
    again = ModalityRows.from_state(*describe.state()).transform(mdata)
    np.testing.assert_array_equal(again[0], views.read(slice(None))[0])
    assert np.isnan(again[1][:30]).all()
    with pytest.warns(UserWarning, match="modality 'rna' holds raw counts"):
        as_views(mdata)


def test_modalities_of_mudata_are_clustered_together(mdata):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clustered = tl.cluster(mdata, 3, draw_map=False, copy=True)
    assert accuracy(KIND, clustered.obs["coterie"].astype(int).to_numpy()) > 0.95
    assert clustered.uns["coterie"]["rows"].startswith("rna: raw counts were scaled")
