"""Tables of the page of peers that stand apart: missing views, many rows, compiling, failures, sources."""

from __future__ import annotations

from benchmarks.peers import PEERS
from benchmarks.records import read_records
from benchmarks.render.figures import Figure, amount, grouped, made_by, newest, table
from benchmarks.render.standing import ended, failed, standings
from benchmarks.sets import IN_FOLDER, LARGE, PACKAGED, SETS

COMMAND = "OMP_NUM_THREADS=1 python -m benchmarks peers --seeds 3"


def missing() -> str:
    """Return ACC with a share of the rows incomplete, where it was measured, and on complete rows."""
    gaps = [record for record in newest(ended()) if record["missing"]]
    if not gaps:
        return "Not measured yet.\n" + made_by(f"{COMMAND} --rates 0.3,0.5")
    runs = grouped(gaps, lambda record: (record["method"], record["data"], record["missing"]))
    figures = {
        key: Figure.of([record["scores"]["accuracy"] for record in some]) for key, some in runs.items()
    }
    known = {(method, name) for method, name, _ in figures}
    for name, methods in standings().items():
        figures |= {(s.method, name, 0): s.accuracy for s in methods if (s.method, name) in known}
    names = [name for name in SETS if any(name == other for _, other in known)]
    rates = sorted({rate for _, _, rate in figures})
    rows = []
    order = sorted(
        gaps, key=lambda record: (record["ours"], [*PEERS, record["method"]].index(record["method"]))
    )
    for method in dict.fromkeys(record["method"] for record in order):
        shown = method if method in PEERS else f"**{method}**"
        for rate in rates:
            rows.append([shown, f"{rate:g}", *(str(figures.get((method, name, rate), "")) for name in names)])
    text = (
        "ACC with this share of the rows incomplete. SNF, MOFA and imml's methods use the views that a row has; "
        "k-means and UMAP see the mean of a view where it is missing.\n"
    )
    return "\n".join(
        [text, table(["", "share", *names], rows), made_by(f"{COMMAND} --rates 0,0.3,0.5", of=gaps)]
    )


def large() -> str:
    """Return ACC, seconds and memory on the sets with the most rows."""
    names = [data.name for data in LARGE]
    runs = [record for record in newest(ended()) if record["data"] in names and not record["missing"]]
    alone = [
        {**record, "ours": True}
        for record in newest(r for r in read_records("accuracy") if not r["params"] and r["data"] in names)
    ]
    rows = []
    for (name, method), some in grouped([*runs, *alone], lambda r: (r["data"], r["method"])).items():
        figure = Figure.of([record["scores"]["accuracy"] for record in some])
        costs = [Figure.of([record[key] for record in some]).mean for key in ("cpu_seconds", "peak_mb")]
        shown = method if method in PEERS else f"**{method}**"
        rows.append([name, f"{some[0]['rows']:,}", shown, str(figure), str(figure.runs), *map(amount, costs)])
    rows.sort(key=lambda row: (row[0], -float(row[3].split(" ")[0])))
    headers = ("data", "rows", "method", "ACC", "seeds", "CPU s", "peak MB")
    return table(headers, rows) + "\n" + made_by(f"{COMMAND} --sets mnist,fashion", of=[*runs, *alone])


def compiling() -> str:
    """Return what the first call of a process costs before its own work, with no compiled code on disk."""
    runs = read_records("compiling")
    if not runs:
        return "Not measured yet.\n\n" + made_by("python -m benchmarks compiling")
    rows = [[record["method"], amount(record["cpu_seconds"]), amount(record["again"])] for record in runs]
    text = "CPU seconds of import and first call on 300 rows with nothing compiled on disk, and of a second call.\n\n"
    return (
        text
        + table(("peer", "first", "second"), rows)
        + "\n"
        + made_by("python -m benchmarks compiling", of=runs)
    )


def failures() -> str:
    groups = grouped(failed(), lambda record: (record["method"], record["failed"]))
    if not groups:
        return "Everything that was started.\n"
    rows = [
        [method, why, ", ".join(dict.fromkeys(record["data"] for record in some))]
        for (method, why), some in groups.items()
    ]
    return table(["method", "why", "data"], rows)


def sources() -> str:
    """Return where sets inside packages come from; the README of the data folder says it of the others."""
    groups = grouped(
        [{"data": d.name, "source": d.source, "scale": d.scale} for d in PACKAGED], lambda r: r["source"]
    )
    rows = [[", ".join(r["data"] for r in some), some[0]["scale"], source] for source, some in groups.items()]
    chosen = ", ".join(data.name for data in IN_FOLDER)
    return (
        f"In the data folder: {chosen}; all with rows of unit length for peers. `har-561` and `reuters-top10` are "
        "not the HAR and Reuters10K of papers. Inside packages:\n\n"
        + table(("data", "peers get", "source and licence"), rows)
    )
