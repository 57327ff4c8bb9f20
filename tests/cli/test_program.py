"""The program itself: help, version, mistakes and bugs."""

import subprocess
import sys

import pytest
from tests.cli.helpers import FAST, last_error

from coterie.cli import run


def test_methods_and_version_are_listed(capsys):
    assert run(["methods"]) == 0
    assert "pcx" in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("coterie 0.")


def test_no_command_at_all_is_answered_with_help(capsys):
    assert run([]) == 0
    assert "\nCommands:\n  methods " in capsys.readouterr().out


def test_what_was_mistyped_leads_to_the_help_of_its_command(capsys):
    assert run(["recommend", "rows.csv", "--zzz"]) == 2
    said = last_error(capsys).replace(": --zzz", " '--zzz'")  # as versions of click say it
    assert said == "coterie: No such option '--zzz'; see coterie recommend --help.\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "{place}/none.csv", "-k", "3", "--out", "{place}/x"], "none.csv"),
        (["fit", "{place}/rows.csv", "-k", "3"], "Missing option '--out'"),
        (["fit", "{place}/rows.csv", "-k", "0", "--out", "{place}/x"], "n_clusters=0"),
        (["fit", "{place}/rows.csv", "-k", "some", "--out", "{place}/x"], "--clusters some is neither"),
        (
            ["fit", "{place}/rows.csv", "-k", "3", "--out", "{place}/x", "--seed", "-1"],
            "Invalid value for '--seed'",
        ),
        (["recommend", "{place}/none.csv"], "none.csv"),
        (["recommend", "{place}/rows.csv", "-k", "0"], "n_clusters=0"),
        (["fit", "{place}/rows.csv", "-k", "151", "--out", "{place}/x"], "n_clusters=151"),
        (
            ["fit", "{place}/rows.csv", "-k", "3", "--method", "kmeens", "--out", "{place}/x"],
            "no method 'kmeens'",
        ),
        (
            ["fit", "{place}/rows.csv", "-k", "3", "--out", "{place}/x", "--set", "lerning_rate=1"],
            "did you mean learning_rate?",
        ),
        (
            ["fit", "{place}/rows.csv", "-k", "3", "--out", "{place}/x", "--set", "tau"],
            "--set tau is not NAME=VALUE",
        ),
        (["fit", "{place}/rows.csv", "-k", "3", "--out", "{place}/run"], "already holds a finished run"),
        (["fit", "{place}/text.csv", "-k", "3", "--out", "{place}/x"], "text.csv"),
        (["predict", "{place}", "{place}/rows.csv"], "holds no finished run"),
        (["predict", "{place}/run", "{place}/truth.txt"], "X has 1 features"),
        (["evaluate", "{place}/run", "--truth", "{place}/short.txt"], "150"),
        (["report", "{place}/run", "--image-shape", "axb"], "--image-shape axb"),
        (["report", "{place}/broken"], "model.coterie"),
        (["fly"], "fly"),
    ],
)
def test_a_mistake_is_one_sentence_on_stderr_and_exit_code_2(folder, capsys, arguments, words):
    (folder / "text.csv").write_text("a,b\n1,2\n3,4\n5,four\n")
    (folder / "short.txt").write_text("1\n2\n")
    (folder / "broken").mkdir(exist_ok=True)
    (folder / "broken" / "model.coterie").write_bytes((folder / "run" / "model.coterie").read_bytes()[:500])
    filled = [argument.format(place=folder) for argument in arguments]
    more = FAST if arguments[0] == "fit" else []
    assert run([filled[0], *more, *filled[1:]]) == 2
    assert words in last_error(capsys)


def test_a_bug_is_told_apart_from_a_mistake(monkeypatch, capsys):
    import coterie.methods.registry as registry

    monkeypatch.setattr(registry, "METHODS", None)
    assert run(["methods"]) == 1
    assert "This is a bug in coterie" in last_error(capsys)


def test_the_installed_command_answers(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "coterie", "--help"], capture_output=True, text=True, check=True
    )
    for command in ("fit", "predict", "evaluate", "report", "explore", "methods", "demo"):
        assert command in done.stdout


def test_no_sentence_sends_to_an_option_that_the_command_lacks(folder, tmp_path, capsys):
    (tmp_path / "kinds.csv").write_text("a,kind\n1,x\n2,y\n")
    labels = ["--labels", str(tmp_path / "kinds.csv")]
    assert run(["fit", str(folder / "rows.csv"), *labels, "--out", str(tmp_path / "run")]) == 2
    said = last_error(capsys)
    assert "call the column with the labels so, or name it where there is --column (evaluate, report," in said
