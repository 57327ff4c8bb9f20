"""`recommend`: every rule, on data made for it."""

import json
import shlex
import warnings

import numpy as np
import pytest

from coterie import GraphClustering, InputError, recommend
from coterie.data import as_views, memory
from coterie.methods.choosing.recommend import Facts


def table(rows=60, columns=4):
    return np.random.default_rng(0).normal(size=(rows, columns))


def several(rows=600):
    return [table(rows), table(rows, 3)]


def labels(rows, *known):
    y = np.full(rows, -1)
    y[: len(known)] = known
    return y


def names(found):
    return [one.method for one in found.alternatives]


def test_one_view_is_for_the_graph():
    advice = recommend(table())
    assert (advice.method, advice.settings) == ("GraphClustering", {"n_clusters": "auto"})
    assert "60 rows in one view of 4 columns" in advice.reasons
    assert names(advice) == ["PCX", "SSCNet", "SSC"]


def test_the_exact_solver_is_not_named_where_it_would_refuse():
    assert "SSC" not in names(recommend(table(6000, 2)))


def test_several_views_are_for_the_graph_too():
    advice = recommend(several())
    assert advice.method == "GraphClustering"
    assert "600 rows in 2 views." in advice.reasons
    assert names(advice) == ["MVSIB", "LargeMvCNet", "PCX"]


def test_columns_can_be_cut_into_views():
    assert "60 rows in 2 views" in recommend(table(), views=[2, 2]).reasons


def test_a_sample_of_many_rows_is_said():
    wide = np.zeros((100_001, 1), dtype=np.float32)
    assert "a sample of 100,000 rows" in recommend(wide).reasons
    assert "sample" not in recommend(wide[1:]).reasons


def test_files_larger_than_memory_are_said(monkeypatch, tmp_path):
    for name, rows in zip("ab", several(), strict=True):
        np.save(tmp_path / f"{name}.npy", rows)
    needed = 4 * 600 * 7 / memory.SHARE
    monkeypatch.setattr(memory, "available_bytes", lambda: needed - 1)
    assert "more than memory should hold" in recommend(tmp_path).reasons
    monkeypatch.setattr(memory, "available_bytes", lambda: needed)
    assert "more than memory" not in recommend(tmp_path).reasons


def test_missing_views_are_said():
    views = several()
    views[1][:150] = np.nan
    assert "25% of the rows without some view" in recommend(views).reasons
    assert Facts.of(as_views(views)).missing == pytest.approx(0.125)


def test_labels_of_two_classes_are_for_fucsmf():
    advice = recommend(table(), labels(60, 0, 3, 3))
    assert (advice.method, advice.settings) == ("FUCSMF", {})
    assert "3 rows of 60 have a label, of 2 classes" in advice.reasons
    assert names(advice) == ["GraphClustering"]


def test_labels_of_one_class_steer_nothing():
    advice = recommend(table(), labels(60, 2, 2))
    assert advice.method == "GraphClustering"
    assert "labels that are all of one class say nothing" in advice.reasons


def test_labels_of_every_row_are_remarked_upon():
    assert "leave y out" in recommend(table(), np.arange(60) % 3).reasons


def test_groups_of_very_different_size_are_taken_from_the_labels_or_from_the_user():
    some = recommend(table(), labels(60, *[0] * 10, 1))
    assert "very different numbers of labels" in some.reasons
    assert "very different" not in recommend(table(), labels(60, *[0] * 9, 1)).reasons
    assert "a very large one may be cut" in recommend(table(), uneven=True).reasons
    assert "a very large one may be cut" not in recommend(table()).reasons


def test_the_settings_make_the_estimator():
    model = recommend(table(), n_clusters=5).make(random_state=3)
    assert isinstance(model, GraphClustering)
    assert (model.n_clusters, model.random_state) == (5, 3)


def test_the_command_line_can_be_copied():
    advice = recommend(table(), n_clusters=5)
    command = "coterie fit 'my data.npy' --method graphclustering --clusters 5 --out run"
    assert advice.command("my data.npy") == command
    steered = recommend(table(), labels(60, 0, 1))
    assert shlex.split(steered.command("d.npy", "known.csv"))[3:] == [
        *("--method", "fucsmf", "--labels", "known.csv", "--out", "run")
    ]
    assert steered.python == "model = coterie.FUCSMF().fit(X, y)"


def test_everything_fits_into_json():
    values = json.loads(json.dumps(recommend(several(), n_clusters=np.int64(5)).as_values()))
    assert (values["method"], values["settings"]) == ("GraphClustering", {"n_clusters": 5})
    assert values["facts"]["views"] == 2
    assert values["alternatives"][0]["method"] == "MVSIB"


def test_the_text_has_the_line_of_python_and_what_was_not_taken():
    text = str(recommend(table(), n_clusters=5))
    assert text.startswith("GraphClustering: 60 rows")
    assert "  model = coterie.GraphClustering(n_clusters=5).fit(X)" in text
    assert "  SSCNet: " in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("rows", range(2, 9))
@pytest.mark.parametrize("data", [table, several], ids=["one view", "several"])
def test_what_is_recommended_for_a_handful_of_rows_takes_them(data, rows):
    advice = recommend(data(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # eight rows are few to count clusters by
        assert len(advice.make(random_state=0).fit(data(rows)).labels_) == rows
    guess = "Fewer than 8 rows do not tell how many clusters there are: 2 is a guess"
    assert (guess in advice.reasons) == (advice.settings == {"n_clusters": 2}) == (rows < 8)
    assert "a guess" not in recommend(data(rows), n_clusters=2).reasons


def test_labels_count_the_classes_of_a_handful_of_rows():
    assert recommend(table(2), [0, 1]).method == "FUCSMF"


def test_landmarks_need_more_rows_than_clusters():
    assert "SSCNet" not in names(recommend(table(2)))
    assert "SSCNet" in names(recommend(table(3)))


def test_too_few_rows_for_any_method_are_one_sentence():
    with pytest.raises(
        InputError, match=r"X has 1 row, and no method finds clusters in fewer than 2; give more"
    ):
        recommend(table(1))
    with pytest.raises(
        InputError, match=r"n_clusters=4 is more than the 3 rows of X; ask for fewer clusters"
    ):
        recommend(table(3), n_clusters=4)


def test_a_wrong_number_of_clusters_is_one_sentence():
    with pytest.raises(InputError, match="n_clusters=0 does not fit recommend"):
        recommend(table(), n_clusters=0)
