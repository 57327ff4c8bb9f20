"""Comparisons, the overview, filters and search, as the page asks the server for them."""

import numpy as np
import pytest
from fastapi.testclient import TestClient

from coterie import GraphClustering
from coterie.data import read_views
from coterie.explore.live.guard import Keys
from coterie.explore.live.metadata import Metadata
from coterie.explore.live.server import make_app
from coterie.explore.live.session import Session

HOME = "http://127.0.0.1:4321"


@pytest.fixture(scope="module")
def graph_session(place, kind_of_rows, tmp_path_factory):
    """A session about clusters of a graph, which have a merge tree; no test gives an answer."""
    views = read_views(place / "rows.csv")
    model = GraphClustering(4, random_state=0, n_resamples=0).fit(views)
    session = Session(
        model,
        views,
        tmp_path_factory.mktemp("looking"),
        metadata=Metadata.read(place / "metadata.csv", 240),
        truth=np.array(["red", "green", "blue", "grey"], dtype=object)[kind_of_rows],
        embedding="pca",
    )
    yield session
    session.log.close()


@pytest.fixture(scope="module")
def kind_of_rows():
    return np.arange(240) % 4


@pytest.fixture(scope="module")
def looking(graph_session):
    keys = Keys(4321)
    client = TestClient(make_app(graph_session, keys), base_url=HOME, raise_server_exceptions=False)
    client.cookies.set(keys.cookie_name, keys.cookie)
    client.headers["origin"] = HOME
    return client


def compare(client, first, second):
    return client.post("/api/compare", json={"first": first, "second": second})


def test_two_clusters_are_compared_by_features_rows_and_what_lies_between(
    looking, graph_session, kind_of_rows
):
    labels = graph_session.state.labels
    one, other = int(labels[0]), int(labels[1])
    found = compare(looking, {"kind": "cluster", "number": one}, {"kind": "cluster", "number": other}).json()
    assert found["sizes"] == [60, 60]
    assert {feature["name"] for feature in found["features"][:2]} == {"height", "depth"}
    first = found["features"][0]
    assert abs(first["inside"] - first["elsewhere"]) == pytest.approx(7, abs=0.5)
    assert sum(first["spread"]["inside"]) == pytest.approx(1, abs=0.01)
    assert {int(labels[row]) for row in found["typical"][0]} == {one}
    assert {int(labels[row]) for row in found["typical"][1]} == {other}
    rows = {row["row"] for row in found["rows"]}
    assert rows == {*found["typical"][0], *found["typical"][1], *found["between"]}


def test_a_class_and_a_selection_are_compared_with_the_rest(looking, kind_of_rows):
    reds = np.flatnonzero(kind_of_rows == 0).tolist()
    chosen = compare(looking, {"kind": "rows", "rows": reds}, {"kind": "rest"}).json()
    known = compare(looking, {"kind": "class", "number": 3}, {"kind": "rest"}).json()  # red comes last
    assert chosen["sizes"] == known["sizes"] == [60, 180]
    assert chosen["features"] == known["features"]
    assert known["titles"] == ["class red", "the rest"]
    assert chosen["titles"] == ["60 selected", "the rest"]


def test_columns_of_the_metadata_are_counted_in_both_groups(looking):
    makers = [row for row in range(240) if row % 3 == 1]
    found = compare(looking, {"kind": "rows", "rows": makers}, {"kind": "rest"}).json()
    assert found["columns"][0]["name"] == "maker"
    assert {"value": "maker 1", "first": 1.0, "second": 0.0} in found["columns"][0]["values"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"kind": "rest"}, {"kind": "rest"}, "The rest is what the other group leaves"),
        ({"kind": "rows", "rows": [1, 2]}, {"kind": "rows", "rows": [2, 3]}, "The two groups share rows"),
        ({"kind": "cluster", "number": 99}, {"kind": "rest"}, "One of the two groups has no rows"),
        ({"kind": "rows", "rows": [999]}, {"kind": "rest"}, "There is no row 999"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused_in_one_sentence(looking, first, second, words):
    answer = compare(looking, first, second)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_the_overview_shows_each_cluster_with_what_tells_it_apart(looking, graph_session):
    found = looking.get("/api/overview").json()
    assert (found["level"], found["own"]) == (4, 4)
    assert sorted(cluster["size"] for cluster in found["clusters"]) == [60] * 4
    assert len(found["columns"]) == len(found["cells"][0]) == 4
    at, column = [cluster["number"] for cluster in found["clusters"]], found["columns"].index("height")
    for c, line in zip(at, found["means"], strict=True):
        rows = graph_session.state.labels == c
        expected = graph_session.table.read(np.flatnonzero(rows))[0][0][:, 0].mean()
        assert line[column] == pytest.approx(expected, rel=1e-3)


def test_the_merges_of_the_overview_do_not_cross_and_lead_to_one_cluster(looking):
    found = looking.get("/api/overview").json()
    assert len(found["merges"]) == 3
    runs = {i: {i} for i in range(4)}
    for into, gone in found["merges"]:
        runs[into] |= runs.pop(gone)
        assert all(max(run) - min(run) == len(run) - 1 for run in runs.values())
    assert list(runs.values()) == [{0, 1, 2, 3}]


def test_another_level_has_its_own_sizes_names_and_colours_on_the_map(looking, graph_session):
    found = looking.get("/api/overview?level=2").json()
    assert sorted(cluster["size"] for cluster in found["clusters"]) == sorted(
        np.bincount(graph_session.model.labels_at(2)).tolist()
    )
    colours = looking.get("/api/colours/level-2").json()
    assert colours["marker"]["color"] == graph_session.model.labels_at(2).tolist()
    assert {group["name"] for group in colours["groups"]} == {
        cluster["title"] for cluster in found["clusters"]
    }
    refused = looking.get("/api/overview?level=5000")
    assert refused.status_code == 400
    assert "no such level" in refused.json()["error"]


def test_clusters_are_named_by_the_class_words_on_map_list_and_labels(looking, graph_session):
    clusters = looking.get("/api/state").json()["clusters"]
    assert {cluster["suggested"] for cluster in clusters} == {"red", "green", "blue", "grey"}
    assert all(cluster["title"] == f"{cluster['number']}: {cluster['suggested']}" for cluster in clusters)
    groups = looking.get("/api/colours/cluster").json()["groups"]
    assert [group["name"] for group in groups] == [cluster["title"] for cluster in clusters]


def test_each_layout_of_the_map_is_there_and_an_unknown_one_is_refused(looking):
    assert [one["key"] for one in looking.get("/api/run").json()["maps"]] == ["data"]
    assert looking.get("/api/map?of=model").status_code == 400


def test_words_are_found_in_any_order_and_all_of_them_are_needed(looking, graph_session):
    assert looking.get("/api/found?words=239%20thing%20maker").json() == [239]
    assert looking.get("/api/found?words=maker%200").json() == graph_session.metadata.search("0 maker", 10**6)
    assert looking.get("/api/found?words=thing%20nowhere").json() == []
    assert len(looking.get("/api/found?words=THING").json()) == 240


def test_filters_have_the_values_of_each_row_on_the_map(looking, graph_session):
    keys = {entry["name"]: entry["key"] for entry in looking.get("/api/run").json()["filters"]}
    assert list(keys)[:2] == ["maker", "age"]
    makers = looking.get(f"/api/filters/{keys['maker']}").json()
    rows = graph_session.sample.rows
    assert [makers["groups"][code] for code in makers["values"]] == [f"maker {row % 3}" for row in rows]
    heights = looking.get(f"/api/filters/{keys['height']}").json()["values"]
    assert heights == pytest.approx(graph_session.table.read(rows)[0][0][:, 0].tolist(), rel=1e-4)
    assert looking.get("/api/filters/feature-9-9").status_code == 400


def test_rows_like_another_are_of_its_kind(looking, kind_of_rows):
    rows = [row["row"] for row in looking.get("/api/like/6").json()]
    assert len(rows) == 12
    assert 6 not in rows
    assert {int(kind_of_rows[row]) for row in rows} == {int(kind_of_rows[6])}
    assert looking.get("/api/like/99999").status_code == 400


def test_a_selection_is_summed_up_by_cluster_class_and_features(looking, kind_of_rows):
    rows = [row for row in range(240) if kind_of_rows[row] == 2]
    found = looking.post("/api/selection", json={"rows": [*rows, 0]}).json()
    assert [count for _, count in found["clusters"]] == [60, 1]
    assert found["classes"] == [["blue", 60], ["red", 1]]
    assert found["features"][0]["inside"] != found["features"][0]["elsewhere"]
    whole = looking.post("/api/selection", json={"rows": list(range(240))}).json()
    assert whole["features"] == []


def test_a_question_puts_the_row_between_its_two_candidates(looking, graph_session):
    found = looking.get("/api/question/5").json()
    own, other = (candidate["number"] for candidate in found["candidates"])
    labels = graph_session.state.labels
    assert own == labels[5] != other
    values = graph_session.table.read(np.arange(240))[0][0]
    names = list(graph_session.table.feature_names[0])
    for feature in found["features"]:
        column = values[:, names.index(feature["name"])]
        assert feature["value"] == pytest.approx(float(column[5]), rel=1e-3)
        means = [float(column[labels == number].mean()) for number in (own, other)]
        assert feature["means"] == pytest.approx(means, rel=1e-3, abs=1e-3)
        assert 0 <= feature["place"] <= 1
    differences = [abs(feature["means"][0] - feature["means"][1]) for feature in found["features"][:2]]
    assert min(differences) > 4
    assert looking.get("/api/question/999").status_code == 400


def test_a_split_is_shown_without_being_taken(looking, graph_session):
    version = graph_session.version
    found = looking.get(f"/api/split/{int(graph_session.state.labels[0])}").json()
    assert sum(found["shares"]) == pytest.approx(1)
    assert found["features"]
    assert [len(rows) for rows in found["rows"]] == [6, 6]
    assert graph_session.version == version
    assert graph_session.log.entries == []
    assert looking.get("/api/split/99").status_code == 400
