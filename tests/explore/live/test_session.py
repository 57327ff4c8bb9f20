import stat
import threading

import numpy as np
import pyarrow as pa
import pytest

from coterie import load
from coterie.errors import InputError
from coterie.explore.live import describe
from coterie.explore.live.answers import Apart, Together
from coterie.explore.live.metadata import Metadata
from coterie.explore.live.row_details import RowDetails
from coterie.explore.live.session import Session
from coterie.store import write_archive


def test_before_anything_is_said_the_model_speaks(session, place):
    model = load(place / "run" / "model.coterie")
    np.testing.assert_array_equal(session.state.labels, model.labels_)
    assert session.state.sizes().sum() == 240
    assert 1 <= len(session.state.ask) <= 12
    assert session.sample.settled


def test_a_label_moves_its_row_and_its_like(session, kind, number_of):
    rows = np.flatnonzero(kind == 0)[:8].tolist()
    change = session.label(rows, None)
    new = int(session.state.labels[rows[0]])
    assert new == 4
    assert (session.state.labels[rows] == new).all()
    assert change.moved >= 8
    assert {session.sample.rows[place] for place in change.marked} >= set(rows)
    assert (session.state.labels[kind == 1] == number_of(session, 1)).all()


def test_a_label_on_a_typical_row_leaves_the_rest_of_its_cluster(session, kind, number_of):
    one, other = number_of(session, 0), number_of(session, 1)
    session.label([session.state.exemplars[one]], other)
    assert (session.state.labels[kind == 0] == one).mean() > 0.9


def test_merged_clusters_are_one_and_a_merge_of_merges_too(session, kind, number_of):
    numbers = [number_of(session, group) for group in range(4)]
    session.merge(numbers[0], numbers[1])
    session.merge(numbers[1], numbers[2])
    assert (session.state.labels[kind < 3] == numbers[2]).mean() > 0.95
    assert set(session.state.numbers.tolist()) == {numbers[2], numbers[3]}
    with pytest.raises(InputError, match=f"There is no cluster {numbers[0]}"):
        session.label([1], numbers[0])


def test_a_split_parts_what_a_merge_had_joined(session, kind, number_of):
    joined = number_of(session, 1)
    session.merge(number_of(session, 0), joined)
    session.split(joined)
    found = [number_of(session, group) for group in (0, 1)]
    assert found[0] != found[1]
    assert (session.state.labels[kind == 0] == found[0]).mean() > 0.9
    assert (session.state.labels[kind == 1] == found[1]).mean() > 0.9


def test_links_tie_rows_and_hold_them_apart(session, kind):
    one, other = int(np.flatnonzero(kind == 0)[3]), int(np.flatnonzero(kind == 1)[3])
    session.together([one, other])
    assert session.state.labels[one] == session.state.labels[other]
    session.undo()
    near = np.flatnonzero(kind == 2)[:2].tolist()
    session.apart(near)
    assert len(session.corrections.cannot_link) == 1


def test_rows_that_are_kept_apart_in_vain_are_told(session, kind):
    sure = np.argsort(-session.state.confidence, kind="stable")
    change = session.apart(sure[kind[sure] == 2][:2].tolist())
    assert "still keep them in one cluster" in describe.change_json(session, change)["words"]
    assert "still" not in describe.change_json(session, session.undo())["words"]


def test_a_contradiction_is_one_sentence_and_changes_nothing(session, kind):
    one, other = (int(np.flatnonzero(kind == group)[0]) for group in (0, 1))
    session.together([one, other])
    before, version = session.state.labels.copy(), session.version
    with pytest.raises(
        InputError, match=rf"Rows {one} and {other} are kept apart, but Keep together ties them"
    ):
        session.apart([one, other])
    np.testing.assert_array_equal(session.state.labels, before)
    assert session.version == version
    assert len(session.log.entries) == 1
    np.testing.assert_array_equal(session.refiner.model({}).labels_, before)


def test_an_answer_that_cannot_be_written_is_not_shown_nor_exported(session, monkeypatch):
    session.label([3, 5, 9], None)
    before = session.state.labels.copy()

    def full(_):
        raise InputError("answers.jsonl cannot be written (No space left on device); nothing changed.")

    with monkeypatch.context() as broken:
        broken.setattr(session.log, "add", full)
        with pytest.raises(InputError, match="No space left"):
            session.merge(0, 1)
    np.testing.assert_array_equal(session.state.labels, before)
    np.testing.assert_array_equal(session.refiner.model({}).labels_, before)


def test_undo_and_redo_give_back_exactly_what_was_shown(session, number_of):
    shown = [session.state.labels.copy()]
    session.label([3, 5, 9], None)
    shown.append(session.state.labels.copy())
    session.merge(number_of(session, 1), number_of(session, 2))
    shown.append(session.state.labels.copy())
    session.undo()
    np.testing.assert_array_equal(session.state.labels, shown[1])
    session.undo()
    np.testing.assert_array_equal(session.state.labels, shown[0])
    session.redo()
    session.redo()
    np.testing.assert_array_equal(session.state.labels, shown[2])


def test_a_later_session_follows_the_answers_of_the_first(make_session, session):
    session.label([3, 5, 9], None)
    session.name(4, "odd ones")
    before = session.state.labels.copy()
    session.log.close()
    again = make_session(prepared=False)
    assert again.corrections.names == {4: "odd ones"}
    again.prepare()
    np.testing.assert_array_equal(again.state.labels, before)


def test_names_need_no_preparation_but_corrections_do(make_session):
    session = make_session(prepared=False)
    session.name(0, "first")
    with pytest.raises(InputError, match="Corrections are being prepared"):
        session.label([1], 2)
    assert session.corrections.names == {0: "first"}
    session.undo()
    assert session.corrections.names == {}
    with pytest.raises(InputError, match="Corrections are being prepared"):
        session.undo()


def test_a_number_is_not_given_twice(session):
    session.label([1, 2], None)
    session.label([3, 4], None)
    assert {4, 5} <= set(session.state.numbers.tolist())


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda s: s.label([240], 1), "There is no row 240: the rows are 0 to 239"),
        (lambda s: s.label([1], 77), "There is no cluster 77"),
        (lambda s: s.merge(1, 1), "cannot be merged with itself"),
        (lambda s: s.name(8, "x"), "There is no cluster 8"),
        (lambda s: s.together([0, 999]), "There is no row 999"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_no_trace(session, act, words):
    with pytest.raises(InputError, match=words):
        act(session)
    assert session.log.path.read_bytes() == b""


def test_data_of_another_length_are_refused(place, tmp_path):
    model = load(place / "run" / "model.coterie")
    with pytest.raises(InputError, match="The data have 3 rows, the model was fitted on 240"):
        Session(model, np.zeros((3, 4)), tmp_path / "x")


def test_the_map_is_kept_and_used_again_only_for_the_same_rows(make_session, session):
    kept = session.folder / "map.coterie"
    first = kept.read_bytes()
    session.log.close()
    again = make_session(prepared=False)
    again.draw_map()
    assert kept.read_bytes() == first
    np.testing.assert_array_equal(
        again.sample.projection().coordinates, session.sample.projection().coordinates
    )
    write_archive(
        kept, {"kind": "maps", "methods": {"data": "PCA"}, "of": "others"}, {"data": np.zeros((240, 2))}
    )
    again.log.close()
    third = make_session(prepared=False)
    third.draw_map()
    np.testing.assert_array_equal(
        third.sample.projection().coordinates, session.sample.projection().coordinates
    )
    third.log.close()
    fewer = make_session(prepared=False, max_rows=50)
    fewer.draw_map()
    assert len(fewer.sample.projection().coordinates) == len(fewer.sample.rows) < 60


def test_clusters_are_described_as_they_are_now(session, kind, number_of):
    details = RowDetails(session)
    one, other = number_of(session, 0), number_of(session, 1)
    session.merge(one, other)
    cluster = details.cluster(other)
    assert cluster["size"] == int((session.state.labels == other).sum())
    assert set(kind[cluster["typical"]]) <= {0, 1}
    assert cluster["commonest"][1] == pytest.approx(0.5, abs=0.1)
    assert {feature["view"] for feature in cluster["features"]} == {"rows"}
    assert cluster["features"][0]["name"] == "width" or abs(cluster["features"][0]["difference"]) > 0.5
    assert other not in cluster["neighbours"]
    with pytest.raises(InputError, match=f"There is no cluster {one}"):
        details.cluster(one)


def test_rows_are_described_with_all_that_is_known(session, evil):
    session.label([7], 2)
    (found,) = RowDetails(session).rows([7])
    assert found["cluster"] == found["given"] == 2
    assert found["class"] == "3"
    assert found["metadata"] == [("maker", "maker 1"), ("age", "21"), (evil, f"thing 7 {evil}")]
    assert len(found["features"]) == 4
    assert abs(found["features"][0]["deviation"]) >= abs(found["features"][3]["deviation"])
    assert found["second"]["cluster"] != 2
    assert found["image"] is None


def test_rows_that_are_images_are_drawn(make_session):
    details = RowDetails(make_session(image_shape=(2, 2)))
    (found,) = details.rows([7])
    assert found["image"].startswith("data:image/png;base64,")
    assert found["features"] == []
    assert details.cluster(0)["decoded"].startswith("data:image/png;base64,")


def test_a_decoded_exemplar_is_shown_until_its_row_has_left_the_cluster(session):
    details, row = RowDetails(session), session.state.exemplars[1]
    assert details.cluster(1)["decoded_features"]
    session.label([row], 2)
    assert details.cluster(1)["decoded_features"] == []
    assert details.cluster(2)["decoded_features"]
    session.undo()
    assert details.cluster(1)["decoded_features"]


def test_all_rows_of_a_cluster_can_be_listed(session):
    details, state = RowDetails(session), session.state
    members = np.flatnonzero(state.labels == 1)
    assert details.members(1, "row", 0, 500) == members.tolist()
    unsure = details.members(1, "unsure", 0, 500)
    assert (np.diff(state.confidence[unsure]) >= 0).all()
    assert details.members(1, "sure", 0, 3) == details.members(1, "sure", 0, 500)[:3]
    assert details.members(1, "row", 2, 3) == members[2:5].tolist()


@pytest.mark.parametrize("key", ["cluster", "confidence", "given", "class", "column-0", "column-1"])
def test_every_colouring_has_a_value_for_every_dot(session, key):
    session.label([7], 2)
    colouring = describe.colouring_json(session, key)
    assert len(colouring["marker"]["color"]) == len(session.sample.rows)
    assert key in describe.colourings(session)
    if key not in ("confidence", "column-1"):
        assert max(colouring["marker"]["color"]) <= len(colouring["groups"]) - 1 + colouring.get("offset", 0)


def test_your_labels_are_grey_but_for_what_you_said(session):
    session.label([7, 9], 2)
    colouring = describe.colouring_json(session, "given")
    coloured = [
        row for row, code in zip(session.sample.rows, colouring["marker"]["color"], strict=True) if code
    ]
    assert coloured == [7, 9]
    assert [group["name"] for group in colouring["groups"]] == ["not labelled", "2: class 2"]


def test_rows_without_a_value_are_a_group_with_a_name(make_session):
    table = pa.table({"maker": ["a", "b", None, ""] * 60})
    colouring = describe.colouring_json(make_session(metadata=Metadata(table)), "column-0")
    assert [group["name"] for group in colouring["groups"]] == ["no value", "a", "b"]


def test_the_history_says_what_was_said(session, number_of):
    one, other = number_of(session, 0), number_of(session, 1)
    session.name(other, "cats")
    session.label([3], other)
    session.merge(one, other)
    words = [entry["words"] for entry in describe.history_json(session)]
    assert words == [
        f"Cluster {other} is called cats",
        f"Row 3 belongs to cluster {other}: cats",
        f"Cluster {one} merged into {other}: cats",
    ]


def test_what_goes_wrong_beside_the_page_is_said(make_session, monkeypatch, tmp_path):
    session = make_session(prepared=False)
    session.log.add(Together(rows=[1, 2]))
    session.log.add(Apart(rows=[1, 2]))
    session.prepare()
    assert "does not fit these data: Rows 1 and 2 are kept apart" in session.refiner.failure
    with pytest.raises(InputError, match="Corrections are not possible"):
        session.label([5], 1)
    session.log.close()
    other = make_session(folder=tmp_path / "other", prepared=False)
    monkeypatch.setattr(other.model, "transform", lambda X: 1 / 0)
    other.prepare()
    assert other.refiner.failure == "division by zero"
    monkeypatch.setattr(other.sample, "lay_out", lambda *_: 1 / 0)
    other.draw_map()
    assert other.sample.settled


def test_preparation_waits_until_the_page_has_its_map(make_session, monkeypatch):
    session = make_session(prepared=False)
    begun = threading.Event()
    monkeypatch.setattr(session, "draw_map", begun.set)
    monkeypatch.setattr(session, "prepare", lambda: None)
    session.start()
    assert not begun.wait(0.2)
    session.map_requested.set()
    assert begun.wait(60)


def test_answers_and_exports_can_be_read_by_their_owner_only(session):
    session.name(0, "mine")
    assert stat.S_IMODE(session.folder.stat().st_mode) == 0o700


def test_answers_that_were_copied_from_another_run_are_refused(make_session, tmp_path):
    first = make_session(tmp_path / "a")
    first.name(0, "mine")
    first.log.close()
    lines = first.log.path.read_text().replace('"of": "', '"of": "0')
    first.log.path.write_text(lines)
    with pytest.raises(InputError, match="about the clusters of another run"):
        make_session(tmp_path / "a")
