"""What an answer did is said in words, and an earlier session is gone on with before anything is taken away."""

import numpy as np
import pytest

from coterie.errors import InputError
from coterie.explore.live import describe
from coterie.explore.live.answers import Label
from coterie.explore.live.export import EXPORTS
from coterie.explore.live.state import Change, State, compare_states


def state(labels):
    numbers = np.unique(labels)
    sure = np.ones(len(labels), dtype=np.float32)
    return State(numbers, np.array(labels), sure, None, numbers, {}, [])


def test_moves_are_counted_by_where_from_and_where_to():
    before, after = state([0, 0, 0, 1, 1, 2]), state([0, 1, 1, 2, 1, 0])
    change = compare_states(Label(rows=[1], to=1), before, after, np.array([1, 3, 4]))
    assert change.moved == 4
    assert change.marked == (0, 1)
    assert change.flows == ((0, 1, 2), (1, 2, 1), (2, 0, 1))
    assert change.taken_over == 0


def test_the_first_answer_is_compared_with_what_the_graph_alone_says():
    by_graph = np.array([0, 0, 1, 1])
    change = compare_states(
        Label(rows=[0], to=1), state([0, 1, 1, 1]), state([1, 0, 1, 1]), np.arange(4), by_graph
    )
    assert (change.moved, change.taken_over) == (1, 1)
    assert change.flows == ((0, 1, 1),)


def words(session, change):
    return describe.change_json(session, change)["words"]


def test_an_answer_is_said_back_with_the_largest_moves(session):
    session.name(1, "cats")
    flows = ((0, 1, 1500), (2, 1, 3), (3, 0, 2), (0, 2, 1), (0, 3, 1))
    change = Change(Label(rows=[7], to=1), moved=1507, flows=flows)
    assert words(session, change) == (
        "Row 7 belongs to cluster 1: cats. 1,507 rows moved: 1,500 from 0 to 1: cats, 3 from 2 to 1: cats, "
        "2 from 3 to 0, 2 between other clusters."
    )


def test_what_is_taken_back_and_said_again_is_named(session):
    assert words(session, session.name(2, "dogs")) == "Cluster 2 is called dogs."
    assert words(session, session.undo()) == "Undone: Cluster 2 is called dogs."
    assert words(session, session.redo()) == "Redone: Cluster 2 is called dogs."
    moved = words(session, session.label([3, 5, 9], None))
    assert moved.startswith("Rows 3, 5, 9 belong to cluster 4. ")
    back = session.undo()
    assert back.moved >= 3
    assert {to for _, to, _ in back.flows} <= set(session.state.numbers.tolist())
    assert words(session, back).startswith("Undone: Rows 3, 5, 9 belong to cluster 4. ")


def test_nothing_is_exported_before_earlier_answers_are_followed(make_session):
    session = make_session()
    session.label([3, 5, 9], None)
    session.log.close()
    again = make_session(prepared=False)
    session_ready = [describe.state_json(again)["refine"]["ready"]]
    for what in ("labels.csv", "labels.parquet", "model", "report"):
        with pytest.raises(InputError, match="Corrections are being prepared"):
            again.export(EXPORTS[what].write, EXPORTS[what].file)
    again.refiner.prepare()
    session_ready.append(describe.state_json(again)["refine"]["ready"])
    with pytest.raises(InputError, match="Your earlier answers are being followed"):
        again.export(EXPORTS["labels.csv"].write, "labels.csv")
    assert '"label"' in again.export(EXPORTS["answers"].write, "answers.json").read_text()
    again.prepare()
    session_ready.append(describe.state_json(again)["refine"]["ready"])
    assert session_ready == [False, False, True]
    assert again.export(EXPORTS["labels.csv"].write, "labels.csv").is_file()


def test_labelled_dots_lie_in_front_of_the_others(session):
    session.label([7, 9], 2)
    colouring = describe.colouring_json(session, "given")
    assert [int(session.sample.rows[place]) for place in colouring["front"]] == [7, 9]
