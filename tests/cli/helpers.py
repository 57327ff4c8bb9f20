"""What the tests of the command line share."""

import csv

FAST = [
    "--method",
    "pcx",
    "--set",
    "max_epochs=6",
    "--set",
    "hidden=[16]",
    "--set",
    "n_code=3",
    "--quiet",
]


def last_error(capsys) -> str:
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert captured.err.count("\n") == 1
    return captured.err


def read_lines(path):
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def rewrite(source, target, change):
    """Write a CSV again, its lines changed."""
    with source.open(newline="") as handle:
        lines = list(csv.reader(handle))
    with target.open("w", newline="") as handle:
        csv.writer(handle).writerows(change(i, line) for i, line in enumerate(lines))
    return target
