"""Tables of the pages on promises and reproducibility: hostile input, and labels in other circumstances."""

from __future__ import annotations

from benchmarks.records import read_records
from benchmarks.render.figures import grouped, made_by, short, table


def determinism() -> str:
    """Return how many rows of each method have another label in other circumstances, and how far confidence moves."""
    runs = read_records("determinism")
    circumstances = list(dict.fromkeys(record["circumstance"] for record in runs))
    lines = []
    for (method, data), some in grouped(runs, lambda record: (record["method"], record["data"])).items():
        found = {record["circumstance"]: record for record in some}
        cells = [
            f"{found[name]['other_labels']} ({found[name]['largest_difference_of_confidence']:.1g})"
            if name in found
            else ""
            for name in circumstances
        ]
        lines.append([method, data, f"{some[0]['rows']:,}", *cells])
    headers = ("method", "data", "rows", *circumstances)
    note = "Rows with another label; in brackets the largest difference of confidence.\n\n"
    return note + table(headers, lines) + "\n" + made_by("python -m benchmarks determinism", of=runs)


def row_order() -> str:
    """Return how far labels of permuted rows agree with those of the rows as they are."""
    runs = read_records("row-order")
    lines = [
        [
            record["method"],
            record["data"],
            f"{record['rows']:,}",
            str(record["orders"]),
            short(record["mean_ari"]),
            short(record["least_ari"]),
        ]
        for record in runs
    ]
    headers = ("method", "data", "rows", "orders", "mean ARI", "least ARI")
    return table(headers, lines) + "\n" + made_by("python -m benchmarks row-order", of=runs)


def adversary() -> str:
    """Return what became of data files in disguise and of tampered models, in the last run of each."""
    last = {record["what"]: record for record in read_records("adversary")}
    keys = ("kinds", "inputs", "refused", "read")
    lines = [
        [what, *(f"{record[key]:,}" for key in keys), str(len(record["faults"]))]
        for what, record in last.items()
    ]
    made = made_by("python -m benchmarks adversary", of=[*last.values()])
    return table(("", *keys, "faults"), lines) + "\n" + made


def serving() -> str:
    """Return the memory of the page's server before and after many requests, and its answers to hostile ones."""
    last = read_records("serving")[-1:]
    lines = []
    for record in last:
        answers = ", ".join(f"{count:,} of {status}" for status, count in record["statuses"].items())
        lines += [
            ["MB before, after a thousand requests", f"{record['mb_before']:.0f}"],
            [f"MB after {record['ordinary']:,} more", f"{record['mb_after_ordinary']:.0f}"],
            [f"MB after {record['hostile']:,} hostile ones", f"{record['mb_after_hostile']:.0f}"],
            ["ordinary requests that failed", str(record["unanswered_looks"])],
            ["answers to hostile requests", answers],
            ["of these 5xx", str(record["server_errors"])],
        ]
    return table(("", "page's server"), lines) + "\n" + made_by("python -m benchmarks serving", of=last)
