"""Tables that stand between two markers inside pages that people write: README, methods, choosing."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.records import read_records
from benchmarks.render import choices, graphs, large, trials, trust
from benchmarks.render.expect import by_kind
from benchmarks.render.figures import Figure, amount, grouped, made_by, newest, short, table
from benchmarks.render.peers import COMMAND, answer
from benchmarks.render.standing import (
    BLOCKS,
    COMPARED,
    best,
    compared,
    counted,
    find,
    is_measured,
    paired,
    standings,
)
from benchmarks.sets import SETS

_MARKED = re.compile(r"(<!-- render: ([\w-]+) -->\n).*?(<!-- render: end -->)", flags=re.DOTALL)


def with_tables(page: str) -> str:
    """Return a page with what the records say now between its markers."""
    return _MARKED.sub(lambda marker: f"{marker[1]}{TABLES[marker[2]]()}{marker[3]}", page)


def summary() -> str:
    """Return what to expect by kind of data, and the best of ours and of the peers on each set, fresh ones first."""
    by_data, parts = standings(), []
    for block in BLOCKS:
        rows = []
        for name in counted(by_data, block):
            methods = by_data[name]
            mine, theirs = best(methods, ours=True), best(methods, ours=False)
            kmeans = find(methods, "k-means")
            if mine is None or theirs is None or kmeans is None:
                continue
            ours = [name, f"{mine.method} {mine.accuracy}", amount(mine.cpu_seconds)]
            others = [f"{theirs.method} {theirs.accuracy}", amount(theirs.cpu_seconds)]
            rows.append([*ours, *others, str(paired(mine, theirs)), short(kmeans.accuracy.mean)])
        headers = (block, "best of ours", "CPU s", "best peer", "CPU s", "difference", "k-means")
        parts.append(table(headers, rows))
    rest = ", ".join(name for name in COMPARED if not is_measured(by_data[name]))
    parts.append(
        f"Not yet measured beside UMAP, Leiden and the like, and not counted: {rest}.\n" if rest else ""
    )
    made = made_by(f"{COMMAND} && python -m benchmarks render", of=compared())
    return "\n".join([answer(by_data), by_kind(by_data), *parts, made])


def accuracy(method: str) -> str:
    """Return the scores of a method with its defaults on every data set, and the baselines of the brief."""
    runs = [
        record
        for record in newest(read_records("accuracy"))
        if record["method"] == method and not record["params"]
    ]
    runs = [record for record in runs if record["data"] in SETS]
    by_data = grouped(runs, lambda record: record["data"])
    rows = []
    for name, bars in SETS.items():
        if name not in by_data:
            continue
        some = by_data[name]
        acc, nmi, ari = (
            Figure.of([record["scores"][score] for record in some]) for score in ("accuracy", "nmi", "ari")
        )
        scores = [str(acc), str(acc.runs), short(nmi.mean), short(ari.mean)]
        others = ["" if bar is None else short(bar) for bar in (bars.kmeans, bars.anchor, bars.knn)]
        spent = amount(Figure.of([record["cpu_seconds"] for record in some]).mean)
        rows.append([name, f"{some[0]['rows']:,}", *scores, *others, spent])
    headers = ("data", "rows", "ACC", "seeds", "NMI", "ARI", "k-means", "anchor graph", "kNN graph", "CPU s")
    command = f"python -m benchmarks accuracy --method {method.lower()} --sets {','.join(by_data)}"
    return table(headers, rows) + "\n" + made_by(command, of=runs)


def labels() -> str:
    """Return the accuracy of FUCSMF and its peers on unlabelled rows."""
    rows, runs = [], [record for record in read_records("labels") if not record["params"]]
    for record in runs:
        spreading = [value for name, value in record["accuracy"].items() if name.startswith("LabelSpreading")]
        count = f"{record['labels']:.0%}" if record["labels"] < 1 else str(record["labels"])
        ours = str(Figure(record["accuracy"]["FUCSMF"], record["deviation"]["FUCSMF"], record["draws"]))
        rows.append(
            [record["data"], count, ours, short(record["accuracy"]["harmonic"]), short(max(spreading))]
        )
    headers = ("data", "labels a class", "FUCSMF", "harmonic", "best LabelSpreading")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks labels", of=runs)


def answers() -> str:
    """Return the accuracy of every seed after ten answers, random and asked by the page."""
    runs = read_records("answers")
    rows = [
        [str(record["seed"]), *(f"{value:.3f}" for value in
         (record["clustered"], record["asked"][0], record["random"][-1], record["asked"][-1]))]
        for record in runs
    ]  # fmt: skip
    headers = ("seed", "clustered", "nothing said", "ten random answers", "ten answers to the page")
    return table(headers, rows) + "\n" + made_by("python -m benchmarks answers", of=runs)


def explorer() -> str:
    """Return what the explorer costs, by the last record of each run."""
    latest = {record["what"]: record for record in read_records("explorer")}
    keys = dict.fromkeys(
        key for record in latest.values() for key in record if key not in ("what", "machine")
    )
    rows = [[key, *(_cell(record.get(key)) for record in latest.values())] for key in keys]
    commands = (
        "python -m benchmarks explorer --run mnist-run --images 28x28",
        "python -m benchmarks explorer --rows 1000000 --columns 16",
    )
    return table(("", *latest), rows) + "\n" + made_by(*commands, of=latest.values())


def maps() -> str:
    """Return what the map of the data costs, by the last record of each number of rows."""
    latest = {record["rows"]: record for record in read_records("maps")}
    rows = [
        [f"{count:,}", f"{record['seconds']:.1f}", f"{record['kept']:.2f}"]
        for count, record in sorted(latest.items())
    ]
    commands = [f"python -m benchmarks maps --rows {count}" for count in sorted(latest)]
    headers = ("rows of MNIST", "CPU seconds", "neighbours kept")
    return table(headers, rows) + "\n" + made_by(*commands, of=latest.values())


def _cell(value: float | list[float] | None) -> str:
    if isinstance(value, list):
        return f"{min(value):.2f} to {max(value):.2f}"
    return "" if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


TABLES: dict[str, Callable[[], str]] = {
    "summary": summary,
    "graph": lambda: accuracy("GraphClustering"),
    "graph-new-rows": graphs.new_rows,
    "held-out": graphs.held_out,
    "graph-growth": graphs.growth,
    "graph-uneven": graphs.uneven,
    "graph-neighbours": graphs.neighbours,
    "describe": graphs.described,
    "graph-confidence": graphs.confidence,
    "pcx": lambda: accuracy("PCX"),
    "largemvc": lambda: accuracy("LargeMvCNet"),
    "mvsib": lambda: accuracy("MVSIB"),
    "sscnet": lambda: accuracy("SSCNet"),
    "ssc": lambda: accuracy("SSC"),
    "labels": labels,
    "answers": answers,
    "explorer": explorer,
    "maps": maps,
    "choosing": choices.choosing,
    "counting": choices.counting,
    "sizing": large.sizing,
    "killed": large.killed,
    "fuzzed": large.fuzzed,
    "ablations_largemvc": lambda: trials.ablations("largemvcnet"),
    "corruption": trials.corruption,
    "label_ablations": trials.label_ablations,
    "solve": trials.solve,
    "scale": trials.scale,
    "missing_largemvc": lambda: trials.missing("largemvcnet"),
    "missing_mvsib": lambda: trials.missing("mvsib"),
    "missing_graph": lambda: trials.missing("graphclustering"),
    "robustness": trials.robustness,
    "imbalance": trials.imbalance,
    "determinism": trust.determinism,
    "row-order": trust.row_order,
    "adversary": trust.adversary,
    "serving": trust.serving,
}
