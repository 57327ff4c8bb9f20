"""The benchmark commands do what they say, on a small scale."""

import json

import numpy as np
import pytest
from benchmarks import (
    answers,
    choosing,
    contrast,
    disk,
    explorer,
    files,
    graph,
    labels,
    packaged,
    records,
    robustness,
    sets,
    solve,
    speed,
    subspaces,
    views,
)
from benchmarks.accuracy import run_accuracy
from benchmarks.making import make
from benchmarks.paper_parts import conditions, tables
from benchmarks.paper_parts.parts import Paper, Part, Regime
from benchmarks.paper_parts.run import run_paper_parts
from scipy import sparse

from coterie import as_views, choose_k
from coterie.errors import InputError, counted
from coterie.methods.fucsmf.problem import AnchorGraph
from coterie.methods.mvsib.options import MVSIBSettings
from coterie.methods.registry import find_method
from coterie.methods.run_setup import RunSettings

SHORT = {"max_epochs": 2, "hidden": [16]}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_accuracy_goes_on_where_it_was_stopped(results, tmp_path, capsys):
    run_accuracy("pcx", ["digits"], [0], tmp_path, tag="try", params=SHORT)
    run_accuracy("pcx", ["digits"], [0, 1], tmp_path, tag="try", params=SHORT)
    kept = records.read_records("try")
    assert [one["seed"] for one in kept] == [0, 1]
    assert all(0 < one["scores"]["accuracy"] <= 1 and one["seconds"] > 0 for one in kept)
    assert kept[0]["machine"]["versions"]["torch"]
    assert kept[0]["machine"]["commit"]
    assert capsys.readouterr().out.count("digits seed 0") == 1


def test_a_machine_is_written_once_and_a_record_names_it_and_its_commit(results):
    old, new = ({"cores": 2, "versions": {"torch": torch}, "commit": torch} for torch in ("2.4", "2.13"))
    written = [{"seed": seed, "machine": block} for seed, block in enumerate((old, old, new))]
    for one in written:
        records.add_record("try", one)
    assert records.read_records("try") == written
    lines = [json.loads(line) for line in (results / "try.jsonl").read_text().splitlines()]
    known = [json.loads(line) for line in (results / "machines.jsonl").read_text().splitlines()]
    assert [one["commit"] for one in lines] == ["2.4", "2.4", "2.13"]
    assert [one["machine"] for one in lines] == [known[0]["id"], known[0]["id"], known[1]["id"]]
    assert [one["versions"] for one in known] == [old["versions"], new["versions"]]


def test_a_missing_data_set_is_one_sentence(results, tmp_path):
    with pytest.raises(InputError, match=r"usps\.npz is not there; give --data"):
        run_accuracy("pcx", ["usps"], [0], tmp_path, tag="try", params=SHORT)


def test_names_of_before_are_understood_and_unknown_ones_named():
    assert sets.named("har,usps,reuters") == ["har-561", "usps", "reuters-top10"]
    with pytest.raises(InputError, match="no data set 'hra'; the data sets are: "):
        sets.named("usps,hra")


def test_every_packaged_set_has_a_loader_a_source_and_a_scaling_and_no_fresh_one_was_looked_at():
    assert {data.name for data in sets.PACKAGED} == set(packaged.LOADERS)
    assert all(data.source and data.scale in ("unit", "standard", "raw") for data in sets.PACKAGED)
    assert {data.name for data in sets.FRESH} == set(packaged.LOADERS) - set(sets.LOOKED_AT)
    assert not any(data.fresh for data in sets.CHOSEN)


def test_a_table_is_encoded_as_a_plain_user_would():
    columns = {
        "kind": ["a", "b", "a", "b"],
        "width": [1.0, 2.0, float("nan"), 4.0],
        "colour": ["r", "g", "r", "r"],
    }
    (block,), truth = packaged._encoded({**columns, "number": [7, 8, 9, 10]}, "kind", drop=("number",))
    np.testing.assert_array_equal(block, [[1, 0, 1], [2, 1, 0], [4, 0, 1]])
    assert truth.tolist() == [0, 1, 1]


def test_a_set_inside_a_package_is_loaded_and_what_is_not_installed_is_named(tmp_path):
    views, truth = sets.SETS["iris"].load(tmp_path)
    assert (views.n_rows, views.dims) == (150, (4,))
    assert np.bincount(truth).tolist() == [50, 50, 50]
    with pytest.raises(InputError, match="no_such_package is not installed: pip install"):
        packaged._folder("no_such_package")


def test_time_series_of_several_variables_are_views(tmp_path, monkeypatch):
    folder = tmp_path / "datasets" / "data" / "Tiny"
    folder.mkdir(parents=True)
    for half in ("TRAIN", "TEST"):
        (folder / f"Tiny_{half}.ts").write_text("@classLabel true a b\n@data\n1,2,3:4,5,6:b\n0,0,0:1,1,1:a\n")
    monkeypatch.setattr(packaged, "_folder", lambda package: tmp_path)
    blocks, truth = packaged._series("Tiny")
    assert [block.shape for block in blocks] == [(4, 3), (4, 3)]
    assert truth.tolist() == [1, 0, 1, 0]


def test_the_work_of_an_epoch_is_counted_by_its_products():
    layers = 784 * 500 + 500 * 500 + 500 * 2000 + 2000 * 10
    assert speed.epoch_flops(1, partners=False) == 6 * (2 * layers + 200)
    assert speed.epoch_flops(1, partners=True) == 6 * (3 * layers + 200)


@pytest.mark.parametrize("name", ["FUCSMF", "LargeMvCNet"])
def test_rows_on_disk_are_measured_beside_a_slice_in_memory(name, results, monkeypatch):
    monkeypatch.setattr(disk, "_IN_MEMORY", 2400)
    disk.run_disk([name], 2600, 16)
    disk.run_disk([name], 2600, 16)
    (record,) = records.read_records("disk")
    assert record["rows_in_memory"] == 2400
    assert record["rows_per_second"] > 0
    assert record["ratio"] > 0
    assert record["peak_mb"] > 50
    assert record["accuracy"] > 0.9


def small_views(k=3):
    rng = np.random.default_rng(0)
    kind = np.arange(90) % k
    tables = [(np.eye(k)[kind] @ rng.normal(size=(k, d)) * 4 + rng.normal(size=(90, d))) for d in (6, 5)]
    return as_views(tables), kind


class SmallSet:
    def __init__(self, k=3):
        self.k = k

    def load(self, folder):
        return small_views(self.k)


def test_missing_and_corrupt_views_are_measured_and_resumed(results, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(views.SETS, "small", SmallSet())
    for _ in range(2):
        views.run_missing(["small"], [0], tmp_path)
        views.run_corruption(["small"], [0], tmp_path)
    gaps = records.read_records("missing")
    assert [(one["reading"], one["rate"]) for one in gaps] == [
        ("rows", 0.0),
        ("rows", 0.3),
        ("rows", 0.5),
        ("rows", 0.7),
        ("entries", 0.3),
        ("entries", 0.5),
    ]
    assert gaps[0]["LargeMvCNet"] > 0.95
    (spoilt,) = records.read_records("corruption")
    assert spoilt["recall"] > 0.5
    assert "small" in capsys.readouterr().out


def test_missing_views_are_measured_for_another_method_in_a_file_of_its_own(results, tmp_path, monkeypatch):
    monkeypatch.setitem(views.SETS, "small", SmallSet())
    monkeypatch.setattr(views, "RATES", (0.0, 0.5))
    monkeypatch.setattr(MVSIBSettings, "least_steps", 40)
    monkeypatch.setattr(MVSIBSettings, "enough_epochs", 20)
    for _ in range(2):
        views.run_missing(["small"], [0], tmp_path, "mvsib")
    gaps = records.read_records("missing-mvsib")
    assert [(one["reading"], one["rate"]) for one in gaps] == [("rows", 0.0), ("rows", 0.5), ("entries", 0.5)]
    assert gaps[0]["MVSIB"] > 0.95


def test_robustness_and_imbalance_are_measured_and_resumed(results, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(robustness.SETS, "small", SmallSet())
    monkeypatch.setitem(robustness.SETS, "five", SmallSet(5))
    monkeypatch.setattr(robustness, "NEIGHBOUR_NOISE", (0.0, 0.5))
    monkeypatch.setattr(robustness, "SIGNAL_TO_NOISE", (0.1,))
    short = {"max_epochs": 20, "hidden": [16], "n_neighbors": 3}
    for _ in range(2):
        robustness.run_robustness("mvsib", ["small"], [0], tmp_path, short)
        robustness.run_imbalance("mvsib", ["five"], [0], tmp_path, short)
    noisy = records.read_records("robustness")
    assert [(one["noise"], one["share"], one["level"]) for one in noisy] == [
        ("neighbours", 0.0, None),
        ("neighbours", 0.5, None),
        ("first view", 0.3, 0.1),
        ("first view", 1.0, 0.1),
    ]
    assert noisy[0]["accuracy"] > 0.95
    (cut,) = records.read_records("imbalance")
    assert 0 <= cut["minority_recall"] <= 1
    assert 0 < cut["rest_accuracy"] <= 1
    assert "robustness, MVSIB" in capsys.readouterr().out
    with pytest.raises(InputError, match="PCX has no tables of neighbours to disturb"):
        robustness.run_robustness("pcx", ["small"], [0], tmp_path, {})


def test_each_part_of_a_paper_is_measured_with_and_without_it_in_every_regime(results, tmp_path, monkeypatch):
    short = {"max_epochs": 1, "hidden": [8]}
    unit = Part("unit", "Eq. 3", {"short": ({}, {"ci_unit": False})})
    few = Part("sizes", "Eq. 12", {"short": ({"imbalance": True}, {})}, conditions=("uneven",))
    table = Paper("pcx", "PC-X", {"short": Regime("short", short)}, [unit, few], ["digits"], rows=300)
    monkeypatch.setitem(tables.PAPERS, "pcx", table)
    for seeds in ([0], [0]):
        run_paper_parts("pcx", ["digits"], seeds, tmp_path, conditions=["complete", "uneven"])
    kept = records.read_records("paper-parts-pcx")
    unit_off, sizes_on = {"ci_unit": False}, {"imbalance": True}
    assert [(one["condition"], one["change"]) for one in kept] == [
        *(("complete", change) for change in ({}, unit_off)),
        *(("uneven", change) for change in ({}, unit_off, sizes_on)),
    ]
    assert [one["fitted_rows"] < 300 for one in kept] == [False, False, True, True, True]
    assert all(one["epochs"] == 1 and one["clusters"] == 10 and one["cpu_seconds"] > 0 for one in kept)
    with pytest.raises(InputError, match="PC-X has no regime 'long'; its regimes are: short"):
        run_paper_parts("pcx", ["digits"], [0], tmp_path, regimes=["long"])


def test_where_labels_are_given_the_score_is_that_of_the_other_rows(results, tmp_path):
    change = [{}]
    run_paper_parts(
        "fucsmf", ["digits"], [0], tmp_path, regimes=["ours"], conditions=["labels 5"], rows=400, only=change
    )
    (kept,) = records.read_records("paper-parts-fucsmf")
    assert kept["scores"]["accuracy"] > 0.7
    views, truth = conditions.drawn(*sets.SETS["digits"].load(tmp_path), 400)
    given = conditions.under("labels 5", views, truth, 0)
    assert np.bincount(given.labels[given.labels >= 0]).tolist() == [5] * 10
    with pytest.raises(InputError, match="There is no condition 'dark'"):
        conditions.under("dark", views, truth, 0)


@pytest.mark.parametrize("paper", tables.PAPERS.values(), ids=tables.PAPERS)
def test_every_change_of_a_table_is_one_that_its_method_takes(paper):
    for name, regime in paper.regimes.items():
        estimator = find_method(regime.method or paper.method).load()
        for condition in {*paper.conditions, *(c for part in paper.parts for c in part.conditions)}:
            for change in paper.changes(name, condition):
                make(estimator, **{**regime.params, **change})._check_params()
    assert all({*part.regimes} <= {*paper.regimes} for part in paper.parts)


def test_noise_is_added_to_the_asked_rows_of_the_first_view_at_the_asked_level():
    clean, _ = small_views()
    before, after = (one.read(slice(None)) for one in (clean, robustness.degraded(clean, 0.3, 0.1, 0)))
    added = after[0] - before[0]
    assert (added != 0).any(axis=1).sum() == 27
    assert added[(added != 0).any(axis=1)].std() == pytest.approx(10 * before[0].std(), rel=0.2)
    assert (before[1] == after[1]).all()


def test_classes_are_cut_to_the_asked_share_by_the_seed():
    views, kind = small_views()
    left, truth, small = sets.cut_classes(views, kind, n_classes=2, share=0.1, seed=0)
    assert [int((truth == c).sum()) for c in small] == [3, 3]
    assert (truth == (set(range(3)) - set(small.tolist())).pop()).sum() == 30
    assert left.n_rows == len(truth) == 36
    rows = [
        np.flatnonzero((views.read(slice(None))[0] == row).all(axis=1))[0]
        for row in left.read(slice(None))[0]
    ]
    assert (kind[rows] == truth).all()
    assert any(set(sets.cut_classes(views, kind, n_classes=2, seed=s)[2]) != set(small) for s in range(9))


def test_recall_is_that_of_the_small_classes_under_the_matching_of_all_rows():
    truth = np.array([0] * 6 + [1] * 6 + [2] * 2)
    labels = np.array([7] * 6 + [4] * 5 + [9] + [9, 4])
    found = robustness.recalls(truth, labels, np.array([2]))
    assert found == {"minority_recall": 0.5, "rest_accuracy": pytest.approx(11 / 12, abs=1e-4)}


def test_an_epoch_of_mvsib_is_compared_phase_by_phase(results):
    contrast.run_contrast_speed(600, 1)
    found = records.read_records("contrast-speed")
    assert [one["what"] for one in found] == [
        f"epoch, {p}" for p in ("warm-up", "stage 1", "stage 2", "stage 3")
    ]
    assert all(one["ratio"] == pytest.approx(one["seconds"] / one["bare_seconds"], rel=0.1) for one in found)


def test_growth_of_mvsib_tells_fixed_costs_from_epochs(results):
    contrast.run_contrast_growth([500], 4)
    (one,) = records.read_records("growth")
    assert 0 < one["cpu_seconds_before_the_epochs"] < one["cpu_seconds"]
    spent = one["cpu_seconds"] - one["cpu_seconds_before_the_epochs"]
    assert 0.3 < one["cpu_microseconds_a_row_and_epoch"] / (1e6 * spent / 500 / 4) <= 1.01
    assert one["accuracy"] > 0.9


def test_corruption_spoils_a_tenth_of_the_first_view_only():
    clean, _ = small_views()
    spoilt, bad = views.corrupted(clean, 0)
    assert bad.sum() == 9
    before, after = clean.read(slice(None)), spoilt.read(slice(None))
    assert (before[0][~bad] == after[0][~bad]).all()
    assert (before[1] == after[1]).all()
    assert after[0][bad].std() > 3 * before[0].std()


def test_scale_runs_in_a_process_of_its_own(results, monkeypatch):
    views.run_scale([600], 2)
    (record,) = records.read_records("scale")
    assert record["rows"] == 600
    assert record["ratio_to_bare_products"] > 0
    assert record["peak_mb"] > 50
    assert record["accuracy"] > 0.9


def test_new_rows_and_traces_are_measured_and_resumed(results, tmp_path, monkeypatch):
    monkeypatch.setitem(subspaces.SETS, "small", SmallSet())
    monkeypatch.setattr(RunSettings, "least_steps", 40)
    monkeypatch.setattr(RunSettings, "enough_epochs", 20)
    for _ in range(2):
        subspaces.run_new_rows(["sscnet"], ["small"], [0], tmp_path)
        subspaces.run_spectral(["small"], [0], tmp_path)
    (new,) = records.read_records("new-rows")
    assert new["rows"] + new["new_rows"] == 90
    assert new["alone_equals_batch"]
    assert abs(new["accuracy"] - new["new_accuracy"]) < 0.2
    (traced,) = records.read_records("spectral")
    assert traced["optimum"] <= traced["trace"] + 1e-4 < 1.2 * traced["optimum"] + 1e-2
    assert traced["orthogonality_error"] < 1e-4
    assert traced["exact_accuracy"] > 0.5


def test_the_accuracy_of_new_rows_uses_the_classes_of_the_known_ones():
    truth = np.array([0, 0, 1, 1, 0, 1])
    known, new = np.arange(4), np.array([4, 5])
    found = subspaces._carried_over(truth, known, new, np.array([1, 1, 0, 0]), np.array([1, 1]))
    assert found == pytest.approx(0.5)


def test_growth_runs_in_a_process_of_its_own(results):
    subspaces.run_growth([400], 4)
    learnt, exact = records.read_records("growth")
    assert (learnt["method"], exact["method"]) == ("SSCNet", "exact")
    assert learnt["peak_mb"] > 50
    assert exact["accuracy"] > 0.5


def labelled_problem():
    rng = np.random.default_rng(0)
    weights = rng.random((30, 8)) * (rng.random((30, 8)) < 0.5) + 0.01
    y = np.full(30, -1)
    y[:6] = [0, 1, 2, 0, 1, 2]
    return sparse.csr_matrix(weights / weights.sum(axis=1, keepdims=True)), y


def test_the_harmonic_solution_is_the_mean_of_its_neighbours():
    weights, y = labelled_problem()
    dense = weights.toarray()
    b = dense @ np.diag(1 / dense.sum(axis=0)) @ dense.T
    free = y < 0
    known = np.eye(3)[y[~free]]
    expected = np.linalg.solve(np.eye(free.sum()) - b[np.ix_(free, free)], b[np.ix_(free, ~free)] @ known)
    np.testing.assert_array_equal(labels.harmonic(AnchorGraph.of(weights), y)[free], expected.argmax(axis=1))


def test_the_problem_given_to_scipy_has_its_own_gradient_and_hessian():
    weights, y = labelled_problem()
    problem = solve.RowSpace(weights, y, 10.0)
    u, h = np.random.default_rng(1).normal(size=(2, 24 * 3))
    ahead, behind = (problem.value_and_gradient(u + t * h) for t in (1e-6, -1e-6))
    gradient = problem.value_and_gradient(u)[1]
    assert (ahead[0] - behind[0]) / 2e-6 == pytest.approx(gradient @ h, rel=1e-5)
    np.testing.assert_allclose(
        (ahead[1] - behind[1]) / 2e-6, problem.hessian_product(u, h), rtol=1e-4, atol=1e-3
    )


def test_labels_and_solve_measure_what_they_say(results, tmp_path, monkeypatch):
    monkeypatch.setattr(labels, "COUNTS", (5,))
    labels.run_labels(["digits"], 1, tmp_path, tag="labels", params={"n_anchors": 200})
    labels.run_labels(["digits"], 1, tmp_path, tag="labels", params={"n_anchors": 200})
    (one,) = records.read_records("labels")
    assert one["accuracy"]["FUCSMF"] > 0.8
    assert one["accuracy"]["harmonic"] > 0.8
    assert sum(name.startswith("LabelSpreading") for name in one["accuracy"]) == 4
    solve.run_solve(tmp_path, 100, "digits")
    (one,) = records.read_records("solve")
    assert abs(one["L-BFGS-B objective less ours"]) < 1e-5
    assert abs(one["Newton-CG objective less ours"]) < 1e-5
    assert one["graph / products through the axes"] > 0


def test_choosing_compares_the_pick_with_the_best_method_on_record(results, tmp_path, capsys, monkeypatch):
    run_accuracy("largemvcnet", ["digits"], [0], tmp_path, tag="crossed", params={})
    choosing.run_choosing(["digits"], tmp_path)
    (record,) = records.read_records("choosing")
    assert (record["picked"], record["best"]) == ("GraphClustering", "LargeMvCNet")
    assert record["best_accuracy"] > 0.7
    assert (record["accuracy"], record["within_3_points"]) == (None, False)
    known = {"GraphClustering": 0.8, "LargeMvCNet": 0.83, "SSCNet": 0.5}
    monkeypatch.setattr(choosing, "mean_accuracies", lambda data: known)
    choosing.run_choosing(["digits"], tmp_path)
    assert records.read_records("choosing")[0]["within_3_points"]
    known["LargeMvCNet"] = 0.831
    choosing.run_choosing(["digits"], tmp_path)
    assert not records.read_records("choosing")[0]["within_3_points"]
    assert "on 0 of 1" in capsys.readouterr().out


def test_counting_goes_on_where_it_was_stopped(results, tmp_path, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(
        choosing,
        "choose_k",
        lambda views, **given: asked.append(given) or choose_k(views, range(8, 12), **given),
    )
    choosing.run_counting(["digits"], [0], tmp_path)
    choosing.run_counting(["digits"], [0], tmp_path)
    (record,) = records.read_records("counting")
    assert len(asked) == 1
    assert record["classes"] == 10
    assert record["k"] in (10, 11)
    assert set(record["alone"]) == {"drop", "stability", "modularity"}
    assert "doublings off" in capsys.readouterr().out


def test_answers_are_given_both_ways_and_resumed(results, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(answers.SETS, "small", SmallSet())
    short = {"n_clusters": 2, "hidden": [16], "max_epochs": 4}
    for _ in range(2):
        answers.run_answers("small", "pcx", [0, 1, 2], tmp_path, short, n_answers=8)
    courses = records.read_records("answers")
    assert [len(course[way]) for course in courses for way in ("asked", "random")] == [9] * 6
    asked, at_random = (np.mean([course[way] for course in courses], axis=0) for way in ("asked", "random"))
    assert asked[0] == at_random[0] < 0.8, "three kinds in two clusters"
    assert asked[-1] > max(at_random[-1], asked[0] + 0.15), "questions worth asking help more"
    assert "ACC after the answers" in capsys.readouterr().out


def test_a_scripted_user_means_the_largest_cluster_of_a_name():
    classes, clusters = np.array([0] * 6 + [1] * 4), np.array([7, 7, 7, 7, 3, 3, 5, 5, 5, 3])
    assert answers.User(classes, clusters)._number_of == {0: 7, 1: 5}


def test_the_explorer_is_measured_in_a_browser(results):
    explorer.run_explorer(300, 8, None, [])
    (one,) = records.read_records("explorer")
    assert one["what"] == "300 planted rows, 8 columns"
    assert 0 < one["seconds to the first paint"] <= one["seconds to the map"] + 0.01
    assert len(one["seconds of answers"]) == 6
    assert one["CPU seconds an answer"] > 0
    assert one["peak MB then"] <= one["peak MB after all"]


def test_the_files_of_a_fit_are_those_whose_functions_are_called():
    assert files.calls_of(lambda: counted(3, "row")) == {("", "errors.py"): 1}
    calls = files.in_python(find_method("graphclustering"))
    estimator = "methods/graph_clustering/estimator.py"
    assert calls[estimator, "graph/choose.py"] == 1  # partition alone; the rest is called there
    assert {("methods/base.py", estimator), (estimator, "methods/base.py")} <= set(calls)
    assert not [callee for _, callee in calls if callee.startswith(("cli/", "explore/", "methods/pcx"))]


def test_the_peak_of_a_block_does_not_count_what_came_before_it():
    with records.measured() as large:
        np.ones(50_000_000).sum()
    with records.measured() as small:
        np.ones(1000).sum()
    assert large["peak_mb"] - small["peak_mb"] > 300


def test_the_graph_is_measured_once_for_each_set_and_seed(results, tmp_path, monkeypatch):
    monkeypatch.setitem(graph.SETS, "small", SmallSet())
    for _ in range(2):
        for run in (graph.run_graph_rows, graph.run_graph_uneven, graph.run_reliability):
            run(["small"], range(2), tmp_path)
    for file in ("graph-rows", "graph-uneven", "graph-confidence"):
        assert [record["seed"] for record in records.read_records(file)] == [0, 1]
    assert min(record["new"] for record in records.read_records("graph-rows")) > 0.9
    assert min(record["accuracy"] for record in records.read_records("graph-uneven")) > 0.9
    bins = np.array(records.read_records("graph-confidence")[0]["bins"])
    assert bins[:, 0].sum() == 90
    assert (bins[:, 2] <= bins[:, 0]).all()
