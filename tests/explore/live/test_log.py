import json
import subprocess
import sys

import pytest

from coterie.errors import InputError
from coterie.explore.live.answers import Apart, Label, Merge, Name, Split, Together, combine
from coterie.explore.live.log import AnswerLog


@pytest.fixture
def path(tmp_path):
    return tmp_path / "answers.jsonl"


def written(path, *answers):
    log = AnswerLog(path)
    for answer in answers:
        log.add(answer)
    log.close()


EVERY = [
    Label(rows=[3, 1], to=2),
    Merge(source=1, into=0),
    Split(cluster=0, new=5, stay=[1], go=[2]),
    Together(rows=[4, 5, 6]),
    Apart(rows=[7, 8]),
    Name(cluster=0, name="ünïcode <b>"),
]


def test_every_kind_of_answer_comes_back_as_it_was(path):
    written(path, *EVERY)
    log = AnswerLog(path)
    assert log.answers == EVERY
    assert log.notice is None
    assert len(path.read_text().splitlines()) == len(EVERY)


def test_undo_and_redo_only_add_lines_and_survive(path):
    log = AnswerLog(path)
    for answer in EVERY[:3]:
        log.add(answer)
    log.undo()
    log.undo()
    log.redo()
    log.close()
    assert len(path.read_text().splitlines()) == 6
    again = AnswerLog(path)
    assert again.answers == EVERY[:2]
    assert [entry.answer for entry in again.undone] == [EVERY[2]]
    again.add(EVERY[4])
    assert again.undone == []
    with pytest.raises(InputError, match="There is no answer to redo"):
        again.redo()


def test_nothing_can_be_taken_back_before_anything_was_said(path):
    with pytest.raises(InputError, match="There is no answer to undo"):
        AnswerLog(path).undo()
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "rest", [b'{"at": "now", "answer": {"ki', b"\x00\x00\x00", b"{}\n", b'{"step": "undo"}']
)
def test_a_last_line_that_a_crash_spoilt_is_dropped_with_a_notice(path, rest):
    written(path, *EVERY[:2])
    whole = path.read_bytes()
    path.write_bytes(whole + rest)
    log = AnswerLog(path)
    assert log.answers == EVERY[:2]
    assert "dropped" in log.notice
    log.add(EVERY[2])
    log.close()
    assert path.read_bytes().startswith(whole)
    assert AnswerLog(path).answers == EVERY[:3]


@pytest.mark.parametrize(
    "line",
    ["nonsense", "[1]", '{"step": "jump"}', '{"at": "", "answer": {"kind": "label", "rows": [-1], "to": 0}}'],
)
def test_a_wrong_line_in_the_middle_is_named_and_nothing_is_lost(path, line):
    written(path, *EVERY[:2])
    first, second = path.read_text().splitlines()
    path.write_text("\n".join([first, line, second]) + "\n")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"answers\.jsonl, line 2 is not an answer"):
        AnswerLog(path)
    assert path.read_bytes() == before


def test_an_undo_of_nothing_in_the_file_is_a_wrong_line(path):
    path.write_text('{"at": "now", "step": "undo"}\n' + json.dumps({"at": "now", "step": "redo"}) + "\n")
    with pytest.raises(InputError, match="line 1"):
        AnswerLog(path)


def test_a_second_process_is_refused(path):
    log = AnswerLog(path)
    code = f"""
from pathlib import Path
from coterie.explore.live.log import AnswerLog
AnswerLog(Path({str(path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Another coterie explore has this run open" in done.stderr
    log.close()


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"none/answers\.jsonl cannot be written"):
        AnswerLog(tmp_path / "none" / "answers.jsonl")


def test_answers_mean_what_the_last_of_them_says():
    corrections = combine(
        [
            Label(rows=[1, 2], to=7),
            Merge(source=7, into=3),
            Label(rows=[2], to=4),
            Merge(source=3, into=4),
            Together(rows=[5, 6, 7]),
            Apart(rows=[8, 9]),
            Split(cluster=4, new=9, stay=[10], go=[11]),
            Name(cluster=4, name="a"),
            Name(cluster=9, name="b"),
            Name(cluster=9, name=""),
        ]
    )
    assert corrections.labels == {1: 4, 2: 4, 10: 4, 11: 9}
    assert corrections.merged == {7: 4, 3: 4}
    assert corrections.must_link == [(5, 6), (5, 7)]
    assert corrections.cannot_link == [(8, 9)]
    assert corrections.split == {3, 4, 7}
    assert corrections.names == {4: "a"}
    assert corrections.move_rows
    assert not combine([Name(cluster=4, name="a")]).move_rows


def test_a_name_is_one_line_without_edges_and_goes_with_its_cluster():
    assert Name(cluster=1, name="  two\n words ").name == "two words"
    assert Name(cluster=1, name="a\0b\x07 👩\u200d🔬").name == "a b 👩\u200d🔬"
    assert combine([Name(cluster=1, name="x"), Merge(source=1, into=0)]).names == {}


@pytest.mark.parametrize("failing", ["write", "fsync"])
def test_an_answer_that_cannot_be_written_leaves_the_file_as_it_was(path, monkeypatch, failing):
    log = AnswerLog(path)
    log.add(EVERY[0])
    whole = path.read_bytes()

    class Half:
        """A disk that takes half a line."""

        def __init__(self, file):
            self._file = file

        def __getattr__(self, name):
            return getattr(self._file, name)

        def write(self, line):
            return self._file.write(line[: len(line) // 2])

    def fail(_):
        raise OSError(5, "broken disk")

    with monkeypatch.context() as broken:
        if failing == "write":
            broken.setattr(log, "_file", Half(log._file))
        else:
            broken.setattr("os.fsync", fail)
        with pytest.raises(InputError, match="cannot be written"):
            log.add(EVERY[1])
    assert path.read_bytes() == whole
    assert log.answers == EVERY[:1]
    log.add(EVERY[2])
    log.close()
    assert AnswerLog(path).answers == [EVERY[0], EVERY[2]]


def test_answers_about_the_clusters_of_another_run_are_refused_and_kept(path):
    log = AnswerLog(path, of="this")
    log.add(EVERY[0])
    log.undo()
    log.close()
    whole = path.read_bytes()
    with pytest.raises(
        InputError, match=r"answers\.jsonl, line 1 is an answer about the clusters of another run"
    ):
        AnswerLog(path, of="that")
    assert path.read_bytes() == whole
    assert len(AnswerLog(path, of="this").undone) == 1


def test_answers_of_before_they_said_what_they_are_about_are_read(path):
    written(path, *EVERY[:2])
    assert AnswerLog(path, of="this").answers == EVERY[:2]
