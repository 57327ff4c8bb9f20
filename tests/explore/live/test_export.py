import csv
import json

import numpy as np
import pyarrow.parquet
import pytest

from coterie import load
from coterie.explore.live.export import EXPORTS


def exported(session, what):
    return session.export(EXPORTS[what].write, EXPORTS[what].file)


@pytest.fixture
def corrected(session, evil):
    session.label([3, 5, 9], None)
    session.name(4, f'odd, "ones" {evil}')
    return session


def test_labels_come_out_the_same_as_csv_and_parquet(corrected, evil):
    with exported(corrected, "labels.csv").open(newline="", encoding="utf-8") as handle:
        lines = list(csv.DictReader(handle))
    assert [int(line["row"]) for line in lines] == list(range(240))
    assert [int(line["cluster"]) for line in lines] == corrected.state.labels.tolist()
    assert lines[3]["name"] == f'odd, "ones" {evil}'
    assert [int(line["row"]) for line in lines if line["given"] == "1"] == [3, 5, 9]
    table = pyarrow.parquet.read_table(exported(corrected, "labels.parquet")).to_pydict()
    assert list(table) == ["row", "cluster", "name", "confidence", "given"]
    assert table["cluster"] == corrected.state.labels.tolist()
    assert table["name"] == [line["name"] for line in lines]
    np.testing.assert_allclose(table["confidence"], [float(line["confidence"]) for line in lines], rtol=1e-5)


def test_the_refined_model_labels_rows_as_they_are_shown(corrected, place):
    model = load(exported(corrected, "model"))
    again = model.predict(place / "rows.csv")
    assert (again == corrected.state.labels).mean() > 0.97
    assert model.names_[4].startswith("odd")


def test_without_a_correction_the_model_itself_comes_out(session, place):
    session.name(0, "only a name")
    model = load(exported(session, "model"))
    np.testing.assert_array_equal(model.labels_, load(place / "run" / "model.coterie").labels_)


def test_answers_come_out_with_their_names(corrected, evil):
    corrected.merge(0, 1)
    corrected.undo()
    content = json.loads(exported(corrected, "answers").read_text())
    assert [answer["kind"] for answer in content["answers"]] == ["label", "name"]
    assert content["answers"][0]["rows"] == [3, 5, 9]
    assert content["names"] == {"4": f'odd, "ones" {evil}'}


def test_the_report_shows_the_present_clusters_and_their_names(corrected, evil):
    page = exported(corrected, "report").read_text()
    assert "4: odd, &quot;ones&quot;" in page
    assert evil not in page
    size = int((corrected.state.labels == 4).sum())
    assert f">{size} row" in page


def test_the_report_says_what_was_refined_and_lists_the_answers(corrected):
    corrected.merge(0, 1)
    page = exported(corrected, "report").read_text()
    assert "<dd>PCX, refined</dd>" in page
    assert "RefinedModel" not in page
    listed = page.partition('<ol class="answer-list">')[2].partition("</ol>")[0].split("<li>")[1:]
    assert [words.split(" &lt;")[0].removesuffix("</li>") for words in listed] == [
        "Rows 3, 5, 9 belong to cluster 4: odd, &quot;ones&quot;",
        "Cluster 4 is called odd, &quot;ones&quot;",
        "Cluster 0 merged into 1",
    ]


def test_a_report_of_a_run_nobody_corrected_lists_no_answers(session):
    page = exported(session, "report").read_text()
    assert "<dd>PCX</dd>" in page
    assert 'id="answers"' not in page


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_a_name_that_a_spreadsheet_would_take_for_a_formula_is_text_in_the_csv(session, start):
    name = f"{start}cmd|'/c calc'!A1"
    session.name(0, name)
    with exported(session, "labels.csv").open(newline="", encoding="utf-8") as handle:
        lines = list(csv.DictReader(handle))
    named = [line for line in lines if line["cluster"] == "0"]
    assert {line["name"] for line in named} == {f"'{name}"}
    assert all(line["confidence"][0].isdigit() for line in lines)
    table = pyarrow.parquet.read_table(exported(session, "labels.parquet")).to_pydict()
    assert name in table["name"]
