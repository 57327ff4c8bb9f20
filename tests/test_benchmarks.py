"""The benchmark commands do what they say, on a small scale."""

import json

import pytest
from benchmarks import records, speed
from benchmarks.accuracy import run_accuracy

from coterie.errors import InputError

SHORT = {"max_epochs": 2, "hidden": [16], "n_threads": 1}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_accuracy_goes_on_where_it_was_stopped(results, tmp_path, capsys):
    run_accuracy("pcx", ["digits"], [0], tmp_path, tag="try", params=SHORT)
    run_accuracy("pcx", ["digits"], [0, 1], tmp_path, tag="try", params=SHORT)
    kept = json.loads((results / "try.json").read_text())
    assert [one["seed"] for one in kept] == [0, 1]
    assert all(0 < one["scores"]["accuracy"] <= 1 and one["seconds"] > 0 for one in kept)
    assert kept[0]["machine"]["versions"]["torch"]
    assert capsys.readouterr().out.count("digits seed 0") == 1


def test_a_missing_data_set_is_one_sentence(results, tmp_path):
    with pytest.raises(InputError, match=r"usps\.npz is not there; give --data"):
        run_accuracy("pcx", ["usps"], [0], tmp_path, tag="try", params=SHORT)


def test_the_work_of_an_epoch_is_counted_by_its_products():
    layers = 784 * 500 + 500 * 500 + 500 * 2000 + 2000 * 10
    assert speed.epoch_flops(1, partners=False) == 6 * (2 * layers + 200)
    assert speed.epoch_flops(1, partners=True) == 6 * (3 * layers + 200)


def test_the_child_that_measures_memory_reports_its_own(tmp_path):
    path = tmp_path / "rows.npy"
    speed._write_planted(path, 300, 8)
    found = speed._child(path, 200, "disk")
    assert found["rate"] > 0
    assert found["peak_mb"] > 50
