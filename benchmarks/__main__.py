"""`python -m benchmarks`: the measurements, one command each."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from benchmarks.sets import CHOSEN, DEFAULT_FOLDER, FRESH, IN_FOLDER, LABELLED, SEVERAL, SINGLE, named
from coterie.errors import InputError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

Names = Annotated[str, typer.Option(help="Names with commas between them.")]
Data = Annotated[Path, typer.Option(help="Folder with the data sets.")]
Tag = Annotated[str, typer.Option(help="Name of the file of results.")]
Params = Annotated[str, typer.Option(help="Parameters other than the defaults, as JSON.")]
Method = Annotated[str, typer.Option(help="See coterie methods.")]

EVERY_METHOD = "pcx,sscnet,mvsib,largemvcnet,fucsmf"
SPECTRAL = "digits,usps,coil20,mnist-10k"
NETWORKS = "digits,coil20,letter,usps,yaleb,har-561,mnist-10k,segment,flavia,olive"
BOTH = ",".join(data.name for data in IN_FOLDER)
EVERY = ",".join(data.name for data in (*FRESH, *CHOSEN))
HELD_OUT = (
    "digits,usps,coil20,yaleb,mnist-10k,letter,msrc_v1,bbcsport,orl_4view,leaves100,mnist_usps_mv,hdigit,"
    "prokaryotic,3sources,ccv_20d"
)
CHECKED = "digits,usps,coil20,yaleb,mnist-10k,msrc_v1,bbcsport,orl_4view,leaves100,hdigit"
UNEVEN = "digits,usps,coil20,har-561,mnist-10k,msrc_v1,orl_4view,mnist_usps_mv,hdigit"
SEMI_SUPERVISED = ",".join(LABELLED)
SMALL = ",".join(data.name for data in SEVERAL if data.name not in ("cora", "ccv_20d", "hdigit"))


@app.command()
def accuracy(
    method: Method = "pcx",
    sets: Annotated[
        str, typer.Option(help="Names with commas between them; the method's own by default.")
    ] = "",
    seeds: Annotated[int, typer.Option(help="How many, from 0.")] = 5,
    data: Data = DEFAULT_FOLDER,
    tag: Tag = "accuracy",
    params: Params = "{}",
) -> None:
    """ACC, NMI and ARI of a method with its defaults; resumable."""
    from benchmarks.accuracy import run_accuracy

    usual = {"largemvcnet": SEVERAL, "mvsib": SEVERAL, "graphclustering": (*SINGLE, *SEVERAL)}
    names = named(sets) if sets else [chosen.name for chosen in usual.get(method, SINGLE)]
    run_accuracy(method, names, range(seeds), data, tag=tag, params=json.loads(params))


@app.command()
def peers(
    sets: Annotated[str, typer.Option(help="Names with commas between them; all 45 by default.")] = "",
    methods: Annotated[
        str,
        typer.Option(help="Peers and our methods, with commas between them, or today, cheap, dear, ours."),
    ] = "",
    seeds: int = 3,
    rates: Annotated[str, typer.Option(help="Shares of incomplete rows, with commas between them.")] = "0",
    limit: Annotated[int, typer.Option(help="Processor seconds after which a run is given up.")] = 600,
    retry: Annotated[bool, typer.Option(help="Try again what failed before.")] = False,
    data: Data = DEFAULT_FOLDER,
    tag: Tag = "peers",
) -> None:
    """Our methods and their peers on the same rows: scores, seconds and memory; resumable."""
    from benchmarks.compare import run_peers

    names = named(sets or EVERY)
    shares = [float(rate) for rate in rates.split(",")]
    chosen = methods.split(",") if methods else []
    run_peers(names, chosen, range(seeds), data, rates=shares, limit=limit, retry=retry, tag=tag)


@app.command()
def describe(kinds: Names = "texts,series,images,cells", seeds: int = 1, data: Data = DEFAULT_FOLDER) -> None:
    """Texts, pictures, series and cells: ACC by what they are described by; resumable."""
    from benchmarks.describe import run_describe

    run_describe(kinds.split(","), range(seeds), data)


@app.command()
def files() -> None:
    """Files of the library that a fit of each method runs through, in Python and at the command line."""
    from benchmarks.files import run_files

    run_files()


@app.command("paper-parts")
def paper_parts(
    method: Method = "pcx",
    regimes: Annotated[
        str, typer.Option(help="paper, ours and others of the method's table; all by default.")
    ] = "",
    sets: Annotated[
        str, typer.Option(help="Names with commas between them; those of the table by default.")
    ] = "",
    conditions: Annotated[
        str, typer.Option(help='Such as "complete,uneven,missing 0.5"; those of the table by default.')
    ] = "",
    seeds: Annotated[int, typer.Option(help="How many, from 0.")] = 3,
    rows: Annotated[int, typer.Option(help="Most rows of a set; 0 is as the table says.")] = 0,
    data: Data = DEFAULT_FOLDER,
    params: Annotated[str, typer.Option(help="Parameters of all fits, as JSON.")] = "{}",
    only: Annotated[str, typer.Option(help="A list of changes, as JSON; all by default.")] = "[]",
) -> None:
    """ACC with and without each part of a method's paper, in the paper's regime and in ours; resumable."""
    from benchmarks.paper_parts.run import find_paper, run_paper_parts

    names = named(sets) if sets else find_paper(method).sets
    run_paper_parts(
        method,
        names,
        range(seeds),
        data,
        regimes=regimes.split(",") if regimes else (),
        conditions=conditions.split(",") if conditions else (),
        rows=rows or None,
        params=json.loads(params),
        only=json.loads(only),
    )


@app.command()
def compiling(
    methods: Names = "UMAP 10-d + k-means,PaCMAP + k-means,Leiden for k,EVoC,fast_hdbscan",
) -> None:
    """CPU seconds that numba takes at the first call of a peer, with no compiled code on disk."""
    from benchmarks.peers.warm import run_compiling

    run_compiling(methods.split(","))


@app.command()
def neighbours(sets: Names = "mnist,fashion", data: Data = DEFAULT_FOLDER) -> None:
    """Recall and CPU seconds of approximate against exact neighbour search."""
    from benchmarks.graph import run_neighbours

    run_neighbours(named(sets), data)


@app.command("graph-rows")
def graph_rows(sets: Names = HELD_OUT, seeds: int = 3, data: Data = DEFAULT_FOLDER) -> None:
    """GraphClustering: ACC of fitted and of held-out rows."""
    from benchmarks.graph import run_graph_rows

    run_graph_rows(named(sets), range(seeds), data)


@app.command("graph-uneven")
def graph_uneven(sets: Names = UNEVEN, seeds: int = 3, data: Data = DEFAULT_FOLDER) -> None:
    """GraphClustering: ACC for classes of very different sizes, against k-means."""
    from benchmarks.graph import run_graph_uneven

    run_graph_uneven(named(sets), range(seeds), data)


@app.command("graph-growth")
def graph_growth(
    sizes: Annotated[
        str, typer.Option(help="Numbers of rows with commas between them; all by default.")
    ] = "",
) -> None:
    """GraphClustering: CPU seconds and memory from disk as rows grow to a million."""
    from benchmarks.graph import SIZES, run_graph_growth

    run_graph_growth([int(size) for size in sizes.split(",")] if sizes else SIZES)


@app.command()
def resources(data: Data = DEFAULT_FOLDER) -> None:
    """Seconds, memory and disk of coterie fit with GraphClustering, against what it says before it starts."""
    from benchmarks.resources import run_resources

    run_resources(data)


@app.command("graph-confidence")
def graph_confidence(sets: Names = CHECKED, seeds: int = 1, data: Data = DEFAULT_FOLDER) -> None:
    """GraphClustering: share of correct rows at each level of confidence."""
    from benchmarks.graph import run_reliability

    run_reliability(named(sets), range(seeds), data)


@app.command()
def speed(method: Literal["pcx", "mvsib"] = "pcx", rows: int = 14_000, rounds: int = 3) -> None:
    """Compare a training epoch with a bare torch loop; PCX also with the machine's peak."""
    from benchmarks.contrast import run_contrast_speed
    from benchmarks.speed import run_speed

    {"pcx": run_speed, "mvsib": run_contrast_speed}[method](rows, rounds)


@app.command()
def disk(
    methods: Annotated[str, typer.Option(help="Names with semicolons between them; all by default.")] = "",
    rows: int = 1_000_000,
    columns: int = 1024,
) -> None:
    """Memory and rate of fits from a memory-mapped file, against a slice in memory; resumable."""
    from benchmarks.disk import CASES, run_disk

    run_disk(methods.split(";") if methods else list(CASES), rows, columns)


@app.command()
def missing(
    sets: Names = SMALL,
    seeds: int = 3,
    data: Data = DEFAULT_FOLDER,
    method: Annotated[str, typer.Option(help="largemvcnet, mvsib or graphclustering.")] = "largemvcnet",
) -> None:
    """ACC as views go missing, against k-means on mean-imputed views."""
    from benchmarks.views import run_missing

    run_missing(named(sets), range(seeds), data, method)


@app.command()
def robustness(
    sets: Names = SMALL,
    seeds: int = 3,
    data: Data = DEFAULT_FOLDER,
    method: Annotated[str, typer.Option(help="mvsib, whose neighbours can be disturbed.")] = "mvsib",
    params: Params = "{}",
) -> None:
    """ACC with random neighbours, and with noise added to the first view."""
    from benchmarks.robustness import run_robustness

    run_robustness(method, named(sets), range(seeds), data, json.loads(params))


@app.command()
def imbalance(
    sets: Names = "hdigit,multiview-digits",
    seeds: int = 5,
    data: Data = DEFAULT_FOLDER,
    method: Method = "mvsib",
    params: Params = "{}",
) -> None:
    """Recall of three classes cut to 5 % of their rows, and ACC of the others."""
    from benchmarks.robustness import run_imbalance

    run_imbalance(method, named(sets), range(seeds), data, json.loads(params))


@app.command()
def corruption(sets: Names = SMALL, seeds: int = 3, data: Data = DEFAULT_FOLDER) -> None:
    """ACC of LargeMvCNet with a tenth of one view replaced by noise, with and without the noise term."""
    from benchmarks.views import run_corruption

    run_corruption(named(sets), range(seeds), data)


@app.command()
def scale(rows: str = "20000,100000,1000000", sweeps: int = 10) -> None:
    """Seconds a row and memory of LargeMvCNet from disk, against the bare matrix products."""
    from benchmarks.views import run_scale

    run_scale([int(number) for number in rows.split(",")], sweeps)


@app.command()
def scaling(
    methods: Annotated[
        str, typer.Option(help="Names with semicolons between them; all five by default.")
    ] = "",
    rows: Annotated[
        str, typer.Option(help="Numbers with commas between them; up to 300,000 by default.")
    ] = "",
    columns: int = 1024,
) -> None:
    """Seconds, memory and ACC of the cases of disk as rows grow; resumable."""
    from benchmarks.scaling import METHODS, SIZES, run_scaling

    sizes = [int(number) for number in rows.split(",")] if rows else SIZES
    run_scaling(methods.split(";") if methods else METHODS, sizes, columns)


@app.command()
def limit(rows: int = 5000) -> None:
    """Share of the machine's matrix-multiply peak that training steps and bare loops reach."""
    from benchmarks.limit import run_limit

    run_limit(rows)


@app.command()
def render() -> None:
    """Write the pages of docs/benchmarks and the README's table from the records."""
    from benchmarks.render import write_pages

    print("\n".join(write_pages()) or "nothing changed")


@app.command("new-rows")
def new_rows(
    methods: Names = "pcx,sscnet", sets: Names = NETWORKS, seeds: int = 1, data: Data = DEFAULT_FOLDER
) -> None:
    """ACC of networks on a held-out fifth of the rows, beside the neighbours' vote; neighbours in the code."""
    from benchmarks.subspaces import run_new_rows

    run_new_rows(methods.split(","), named(sets), range(seeds), data)


@app.command()
def spectral(sets: Names = SPECTRAL, seeds: int = 1, data: Data = DEFAULT_FOLDER) -> None:
    """SSCNet against exact spectral clustering, and the trace of its eigen-layers against the optimum."""
    from benchmarks.subspaces import run_spectral

    run_spectral(named(sets), range(seeds), data)


@app.command()
def growth(
    method: Literal["sscnet", "mvsib"] = "sscnet", rows: str = "10000,50000,200000", epochs: int = 4
) -> None:
    """Seconds a row and memory from disk: of SSCNet at fixed landmarks, of MVSIB with the fixed costs apart."""
    from benchmarks.contrast import run_contrast_growth
    from benchmarks.subspaces import run_growth

    run = {"sscnet": run_growth, "mvsib": run_contrast_growth}[method]
    run([int(number) for number in rows.split(",")], epochs)


@app.command()
def labels(
    sets: Names = SEMI_SUPERVISED,
    draws: Annotated[int, typer.Option(help="How many draws of labels.")] = 10,
    data: Data = DEFAULT_FOLDER,
    tag: Tag = "labels",
    params: Params = "{}",
) -> None:
    """Accuracy of FUCSMF on unlabelled rows, against LabelSpreading and the harmonic solution."""
    from benchmarks.labels import run_labels

    run_labels(named(sets), draws, data, tag=tag, params=json.loads(params))


@app.command()
def solve(data: Data = DEFAULT_FOLDER, anchors: int = 2000) -> None:
    """Seconds of FUCSMF's graph, solve and refinement on MNIST, against scipy's solvers and LabelSpreading."""
    from benchmarks.solve import run_solve

    run_solve(data, anchors)


@app.command()
def processes(
    methods: Names = "pcx,sscnet,mvsib,largemvcnet", rows: int = 8192, batch_size: int = 256, rounds: int = 1
) -> None:
    """Rate of training of one thread, of two threads, and of two processes of one thread."""
    from benchmarks.processes import run_processes

    run_processes(methods.split(","), rows, batch_size, rounds)


@app.command()
def hosts(methods: Names = EVERY_METHOD) -> None:
    """Fit on two hosts, which are network namespaces of this machine; needs root."""
    from benchmarks.processes import run_hosts

    run_hosts(methods.split(","))


@app.command()
def faults(
    works: Annotated[
        str, typer.Option(help="Methods, refine, report, predict, export, with commas; all by default.")
    ] = "",
    kills: Annotated[int, typer.Option(help="SIGKILL at so many random moments.")] = 50,
    stops: Annotated[int, typer.Option(help="SIGTERM at so many random moments.")] = 10,
    seed: int = 0,
) -> None:
    """Kill and stop work at random moments, let its disk run full, begin it again, and compare the results."""
    from benchmarks.faults import WORKS, run_faults

    run_faults(works.split(",") if works else WORKS, kills, stops, seed)


@app.command()
def adversary(seeds: Annotated[int, typer.Option(help="Tables that each disguise gets.")] = 3) -> None:
    """Read data files in disguise and load tampered models."""
    from benchmarks.adversary import run_adversary

    run_adversary(seeds)


@app.command()
def serving(ordinary: int = 10_000, hostile: int = 5_000, seed: int = 0) -> None:
    """Send many requests to the page's server: its memory before and after, and its answers to hostile ones."""
    from benchmarks.serving import run_serving

    run_serving(ordinary, hostile, seed)


@app.command()
def determinism(
    sets: Annotated[str, typer.Option(help="Of GraphClustering.")] = "wine,olive,msrc_v1,digits",
    others: Annotated[str, typer.Option(help="Of the other methods, which train 20 epochs.")] = "wine",
    data: Data = DEFAULT_FOLDER,
) -> None:
    """Compare labels of one seed across processes, threads and instruction sets."""
    from benchmarks.determinism import run_determinism

    run_determinism(named(sets), named(others), data)


@app.command("row-order")
def row_order(
    sets: Annotated[
        str, typer.Option(help="Of GraphClustering.")
    ] = "iris,wine,penguins,crabs,glass,olive,gunpoint,trace,msrc_v1,3sources",
    others: Annotated[str, typer.Option(help="Of the other methods, which train 20 epochs.")] = "iris,wine",
    graph_orders: int = 20,
    orders: int = 4,
    data: Data = DEFAULT_FOLDER,
) -> None:
    """Compare labels of permuted rows with those of the rows as they are."""
    from benchmarks.determinism import run_orders

    run_orders(named(sets), named(others), graph_orders, orders, data)


@app.command()
def fuzz(
    readers: Annotated[str, typer.Option(help="Names with commas between them; all by default.")] = "",
    inputs: Annotated[int, typer.Option(help="How many for all readers together.")] = 100_000,
    seed: int = 0,
) -> None:
    """Give damaged files to every reader, to load and to the checkpoints; resumable."""
    from benchmarks.fuzz import run_fuzz
    from benchmarks.fuzzing.targets import TARGETS

    run_fuzz(readers.split(",") if readers else [*TARGETS], inputs, seed)


@app.command()
def choosing(sets: Names = BOTH, data: Data = DEFAULT_FOLDER) -> None:
    """Compare what coterie recommends for each set with the most accurate method on record."""
    from benchmarks.choosing import run_choosing

    run_choosing(named(sets), data)


@app.command()
def counting(
    sets: Names = BOTH,
    seeds: Annotated[int, typer.Option(help="How many, from 0.")] = 1,
    data: Data = DEFAULT_FOLDER,
) -> None:
    """Compare the number of clusters that choose_k says with the number of classes."""
    from benchmarks.choosing import run_counting

    run_counting(named(sets), range(seeds), data)


@app.command()
def answers(
    name: Annotated[str, typer.Option("--set", help="The data set.")] = "hdigit",
    method: Method = "pcx",
    seeds: int = 5,
    data: Data = DEFAULT_FOLDER,
    params: Annotated[
        str, typer.Option(help="Parameters that make mistakes, as JSON.")
    ] = '{"n_clusters": 8, "max_epochs": 2}',
) -> None:
    """ACC after ten answers of a scripted user: asked by the page, and drawn at random."""
    from benchmarks.answers import run_answers

    run_answers(named(name)[0], method, range(seeds), data, json.loads(params))


@app.command()
def tables(
    sets: Annotated[str, typer.Option(help="Names with commas between them; all by default.")] = "",
    seeds: int = 3,
) -> None:
    """ACC on tables with words, dates, money and gaps as they come, and of peers on an encoding made by hand."""
    from benchmarks.tables import names_of, run_tables

    run_tables([*names_of(sets)], range(seeds))


@app.command()
def explorer(
    rows: Annotated[int, typer.Option(help="Planted rows, where no run is given.")] = 70_000,
    columns: int = 64,
    run: Annotated[Path | None, typer.Option(help="A finished run of your own.")] = None,
    images: Annotated[str, typer.Option(help="Its --image-shape.")] = "",
) -> None:
    """Seconds to the first paint and of an answer, and the memory of the explorer, in headless Chromium."""
    from benchmarks.explorer import run_explorer

    run_explorer(rows, columns, run, ["--image-shape", images] if images else [])


@app.command()
def maps(
    rows: Annotated[int, typer.Option(help="How many rows of MNIST.")] = 5000,
    data: Data = DEFAULT_FOLDER,
) -> None:
    """CPU seconds to lay rows out on the map of the data, and the share of neighbours that stay neighbours."""
    from benchmarks.maps import run_maps

    run_maps(rows, data)


if __name__ == "__main__":
    try:
        app()
    except InputError as error:
        sys.exit(str(error))
