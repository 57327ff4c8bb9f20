"""Peers do what they say on small problems, and their runs are recorded, resumed and limited."""

import json
import os
import sys

import numpy as np
import pytest
import torch
from benchmarks import compare, limit, peers, records, scaling
from benchmarks.forked import forked
from benchmarks.making import make
from benchmarks.peers import CHEAP, PEERS, TODAY, Peer, find_peer, kept, torchvision, warm
from benchmarks.peers.coregularised import gaussian_kernel
from benchmarks.peers.knn import jaccard, neighbours
from benchmarks.peers.lmvsc import mixtures
from benchmarks.peers.snf import snf
from benchmarks.peers.wnn import weighted_neighbours
from benchmarks.sets import scaled_tables, unit_tables

from coterie import PCX, as_views
from coterie.engine.loop import Loop
from coterie.errors import InputError
from coterie.metrics import accuracy


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def planted(k=3, n_rows=120):
    """Rows near k directions, in two views."""
    rng = np.random.default_rng(0)
    kind = np.arange(n_rows) % k
    centres = [3 * np.linalg.qr(rng.normal(size=(d, k)))[0].T for d in (6, 8)]
    return [(c[kind] + 0.3 * rng.normal(size=(n_rows, c.shape[1]))).astype(np.float32) for c in centres], kind


@pytest.mark.parametrize("peer", CHEAP, ids=lambda peer: peer.name)
def test_every_cheap_peer_finds_planted_groups(peer):
    tables, kind = planted()
    tables = unit_tables(as_views(tables), np.ones((120, 2), dtype=bool))
    labels = peer.load()(tables, 3, 0, **peer.settings)
    assert accuracy(kind, labels) > 0.95


def test_views_have_unit_rows_and_their_mean_where_they_are_missing():
    tables, _ = planted()
    mask = np.ones((120, 2), dtype=bool)
    mask[:10, 1] = False
    first, second = unit_tables(as_views(tables), mask)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(second[:10], np.tile(second[10:].mean(axis=0), (10, 1)), atol=1e-6)


def test_columns_are_standardised_or_left_as_they_are_up_to_one_factor():
    tables, _ = planted()
    tables[0][:, 0] *= 1000
    views, mask = as_views(tables), np.ones((120, 2), dtype=bool)
    first = scaled_tables(views, mask, "standard")[0]
    np.testing.assert_allclose(first.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(first.std(axis=0), first.std(axis=0)[0], rtol=1e-4)
    factor = scaled_tables(views, mask, "raw")[0] / tables[0]
    np.testing.assert_allclose(factor, factor[0, 0], rtol=1e-4)


def test_the_jaccard_graph_is_that_of_neighbours_in_common():
    places = neighbours(planted()[0][0], 6, 0)[0][:, 1:]
    graph, sets = jaccard(places).toarray(), [set(row) for row in places.tolist()]
    for i in range(len(places)):
        for j in range(len(places)):
            linked = i != j and (j in sets[i] or i in sets[j])
            expected = len(sets[i] & sets[j]) / len(sets[i] | sets[j]) if linked else 0
            assert graph[i, j] == pytest.approx(expected)


def test_similarity_network_fusion_finds_planted_groups_with_views_missing():
    tables, kind = planted()
    mask = np.ones((120, 2), dtype=bool)
    mask[:30, 0] = False
    mask[30:60, 1] = False
    settings = PEERS["SNF"].settings
    assert accuracy(kind, snf(tables, np.ones((120, 2), dtype=bool), 3, 0, **settings)) > 0.95
    assert accuracy(kind, snf(tables, mask, 3, 0, **settings)) > 0.95


def test_weighted_neighbours_trust_the_view_that_predicts_itself():
    tables, kind = planted()
    noise = (20 * np.random.default_rng(1).normal(size=(120, 8))).astype(np.float32)
    settings = {"n_neighbors": 10, "n_candidates": 60, "n_axes": 20}
    same = [kind[weighted_neighbours([tables[0], other], 0, **settings)] == kind[:, None] for other in
            (tables[1], noise)]  # fmt: skip
    plain = kind[neighbours(np.hstack([tables[0], noise]), 11, 0)[0][:, 1:]] == kind[:, None]
    assert same[0].mean() > 0.99
    assert same[1].mean() > plain.mean() + 0.05


def test_what_peers_share_is_computed_once_and_charged_to_each(tmp_path, monkeypatch):
    monkeypatch.setenv(kept.FOLDER, str(tmp_path))
    rows, calls = np.arange(6.0), []

    def compute():
        calls.append(1)
        sum(i * i for i in range(3_000_000))
        return {"rows": rows + 1}

    spent = []
    for seed in (0, 0, 1):
        with kept.charged() as costs:
            found = kept.kept("map", rows, seed, compute)
        spent.append(costs["cpu_seconds"])
        np.testing.assert_array_equal(found["rows"], rows + 1)
    assert len(calls) == 2, "another seed is computed anew"
    assert spent[1] >= 0.5 * spent[0] > 0
    with kept.charged() as costs:
        kept.kept("map", rows, 0, compute, free=True)
    assert costs["cpu_seconds"] < 0.5 * spent[0]


def test_peers_are_compiled_before_they_are_timed(monkeypatch):
    called = []
    monkeypatch.setattr(warm, "call", lambda peer, n_rows, **more: called.append((peer.name, n_rows, more)))
    monkeypatch.setattr(warm, "_one_thread", lambda: None)
    warm.warm_up([Peer("one", "a.b"), Peer("two", "a.b", several=True)], many=True)
    assert called == [("one", 300, {}), ("one", warm.MANY_ROWS, {}), ("one", 300, {"width": 40}),
                      ("two", 300, {}), ("two", 300, {"width": 40})]  # fmt: skip


def test_every_peer_of_today_says_what_it_needs():
    assert {peer.package for peer in TODAY} >= {
        "umap",
        "pacmap",
        "leidenalg",
        "evoc",
        "fast_hdbscan",
        "mofapy2",
    }
    assert all(peer.compiled for peer in TODAY if peer.package in ("umap", "pacmap", "evoc", "fast_hdbscan"))


def test_mixtures_lie_on_the_simplex_and_nothing_near_them_is_better():
    rng = np.random.default_rng(0)
    rows, anchors = rng.normal(size=(20, 5)), rng.normal(size=(4, 5))
    found = mixtures(rows, anchors, 0.1)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)

    def cost(z):
        return np.square(rows - z @ anchors).sum(axis=1) + 0.1 * np.square(z).sum(axis=1)

    for _ in range(200):
        other = 0.9 * found + 0.1 * rng.dirichlet(np.ones(4), size=20)
        assert (cost(found) <= cost(other) + 1e-6).all()


def test_the_normalised_kernel_has_one_as_its_largest_eigenvalue():
    values = np.linalg.eigvalsh(gaussian_kernel(planted()[0][0]))
    assert values[-1] == pytest.approx(1, abs=1e-5)
    assert values[0] > -1e-5


def test_an_import_of_torchvision_is_answered(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    torchvision.stand_in()
    assert isinstance(sys.modules["torchvision.models._api"].WeightsEnum, type)
    with pytest.raises(AttributeError, match="__path__"):
        sys.modules["torchvision"].__path__  # noqa: B018


def test_rows_without_a_label_are_wrong():
    truth = np.array([0, 0, 1, 1])
    assert compare.scores_of(truth, np.array([3, -1, 5, 5]))["accuracy"] == 0.75
    assert compare.scores_of(truth, np.array([-1, -1, -1, -1]))["accuracy"] == 0


def test_a_run_apart_says_what_it_died_of():
    assert forked(dict, limit=60) == {}
    assert forked(dict, limit=60, compiled=True) == {}
    assert forked(json.loads, "{", limit=60)["failed"].startswith("JSONDecodeError: ")
    assert forked(os._exit, 3, limit=60) == {"failed": "ended with code 3"}
    assert forked(exec, "while True: pass", limit=1) == {"failed": "took more than 1 processor seconds"}


def test_peers_and_ours_are_measured_side_by_side_and_resumed(results, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(
        PEERS, "spectral", PEERS["spectral"].__class__("spectral", "classic.spectral", most_rows=9)
    )
    for _ in range(2):
        compare.run_peers(["digits"], ["k-means", "spectral", "largemvcnet", "LMVSC"], [0], tmp_path)
    found = records.read_records("peers")
    assert [(one["method"], one["ours"]) for one in found] == [
        ("k-means", False),
        ("spectral", False),
        ("LargeMvCNet", True),
    ]
    assert found[0]["scores"]["accuracy"] == pytest.approx(0.79, abs=0.02)
    assert found[0]["settings"] == {"n_init": 10}
    assert found[1]["failed"] == "needs rows times rows: more than 9 rows"
    assert found[2]["scores"]["accuracy"] > 0.85
    assert all(found[i]["cpu_seconds"] > 0 and found[i]["peak_mb"] > 50 for i in (0, 2))
    assert "3 of 3 are recorded" in capsys.readouterr().out


def test_a_method_that_does_not_exist_is_named(results, tmp_path):
    with pytest.raises(InputError, match="There is no peer 'kmedoids'; the peers are: UMAP 10-d"):
        compare.run_peers(["digits"], ["kmedoids"], [0], tmp_path)
    assert find_peer("K-Means").name == "k-means"


def test_a_package_that_is_not_installed_is_named(results, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None if name == "clustpy" else name)
    with pytest.raises(
        InputError, match=r"DEC needs clustpy: pip install .*, or leave it out with --methods\."
    ):
        compare.run_peers(["digits"], ["k-means", "DEC"], [0], tmp_path)
    assert not results.exists()


def test_what_failed_is_tried_again_only_when_asked(results, tmp_path, monkeypatch):
    monkeypatch.setattr(compare, "forked", lambda *_, **__: {"failed": "bad luck"})
    compare.run_peers(["digits"], ["k-means"], [0], tmp_path)
    monkeypatch.setattr(compare, "forked", lambda *_, **__: {"failed": "again"})
    compare.run_peers(["digits"], ["k-means"], [0], tmp_path)
    assert [one["failed"] for one in records.read_records("peers")] == ["bad luck"]
    compare.run_peers(["digits"], ["k-means"], [0], tmp_path, retry=True)
    assert [one["failed"] for one in records.read_records("peers")] == ["again"]


def test_a_group_stands_for_its_peers():
    assert compare._expanded(["cheap", "pcx"], 1) == [*(peer.name for peer in CHEAP), "pcx"]
    assert "MVSIB" in compare._expanded(["ours"], 2)
    assert "MVSIB" not in compare.usual_methods(1)
    assert "SNF" in compare.usual_methods(2)
    assert "SNF" not in compare.usual_methods(1)


def test_missing_views_are_the_same_for_all(results, tmp_path):
    compare.run_peers(["multiview-digits"], ["k-means"], [0], tmp_path, rates=(0.0, 0.7))
    whole, gaps = records.read_records("peers")
    assert (whole["missing"], gaps["missing"]) == (0.0, 0.7)
    assert gaps["scores"]["accuracy"] < whole["scores"]["accuracy"]


def test_scaling_is_measured_from_disk_and_resumed(results):
    for _ in range(2):
        scaling.run_scaling(["LargeMvCNet", "FUCSMF"], [2100], 64)
    several, taught = records.read_records("scaling")
    assert (several["passes"], taught["passes"]) == (2, None)
    assert min(several["accuracy"], taught["accuracy"]) > 0.95
    assert min(several["peak_mb"], several["cpu_seconds"]) > 0
    with pytest.raises(InputError, match="no case 'SSC'; use some of PCX; "):
        scaling.run_scaling(["SSC"], [600], 64)


def test_the_rate_of_steps_is_that_of_their_matrix_products():
    rows = np.random.default_rng(0).random((300, 20), dtype=np.float32)
    plain = Loop.step
    with limit._watched(limit._counted) as work:
        make(
            PCX, 3, max_epochs=2, hidden=(8,), self_training=0.0, n_neighbors=0, init="kmeans", random_state=0
        ).fit(rows)
    assert Loop.step is plain
    assert len(work) == 4  # two batches in each epoch
    layers = 20 * 8 + 8 * 10 + 20 * 10 + 10 * 8 + 8 * 20  # encoder, CI-Unit, decoder
    distances = 4 * 10 * 3  # of the codes to the centroids, which get no gradient
    assert work == [150 * (6 * layers - 2 * 20 * 8 + distances)] * 4  # nor do the rows
    product = np.ones((64, 64), dtype=np.float32)
    assert limit.whole_rate(lambda: torch.from_numpy(product) @ torch.from_numpy(product)) > 0
