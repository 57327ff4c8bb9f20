"""What the docs show of the benchmarks is what the records say."""

from xml.etree import ElementTree

import pytest
from benchmarks import render
from benchmarks.paper_parts.parts import Paper, Part, Regime
from benchmarks.render import choices, expect, figures, large, papers, parts, peers, standing, tables, trials
from benchmarks.render.costs import exponent
from benchmarks.render.svg import Panel, Series, drawing

from coterie import SSCNet


def test_what_is_committed_is_what_render_makes():
    stale = [name for name, text in render.pages().items() if (render.ROOT / name).read_text() != text]
    assert stale == [], "run python -m benchmarks render"


def record(method, data, seed, accuracy, **more):
    costs = {"cpu_seconds": 1.0, "peak_mb": 100.0, "rows": 9, "settings": {}, "missing": 0.0, "ours": False}
    return {**costs, "method": method, "data": data, "seed": seed, "scores": {"accuracy": accuracy}, **more}


@pytest.fixture
def records(monkeypatch):
    files: dict = {"peers": [], "accuracy": []}
    monkeypatch.setattr(standing, "read_records", lambda name: files[name])
    return files


def test_our_seeds_are_pooled_and_costs_are_those_beside_the_peers(records):
    records["peers"] = [
        record("k-means", "digits", 0, 0.7),
        record("PCX", "digits", 0, 0.8, ours=True, cpu_seconds=5.0),
        record("PCX", "digits", 0, 0.1, ours=True, missing=0.5),
        {"method": "DEC", "data": "digits", "failed": "too slow"},
    ]
    alone = {"params": {}, "cpu_seconds": 50.0}
    records["accuracy"] = [
        record("PCX", "digits", 0, 0.5, **alone, settings={"old": 1}),
        record("PCX", "digits", 0, 0.9, **alone),
        record("PCX", "digits", 1, 0.9, **alone),
        record("PCX", "digits", 2, 0.2, **{**alone, "params": {"hold": 0}}, settings={"hold": 0}),
    ]
    peer, mine = standing.standings()["digits"]
    assert (peer.method, mine.method) == ("k-means", "PCX")
    assert mine.accuracy.runs == 2
    assert mine.accuracy.mean == pytest.approx(0.85)
    assert mine.cpu_seconds == 5.0


def stand(method, accuracy, seconds, ours=False, seeds=(), commit=""):
    by_seed = dict(enumerate(seeds))
    return standing.Standing(
        method, 9, ours, figures.Figure(accuracy, 0.0, 1), seconds, 100.0, by_seed, commit
    )


def test_rows_that_were_scaled_otherwise_do_not_count(records):
    records["peers"] = [
        record("k-means", "wine", 0, 0.9, scale="standard"),
        record("k-means", "wine", 1, 0.1),
        record("k-means", "usps", 0, 0.5),
    ]
    found = standing.standings()
    assert [one.accuracy.mean for one in found["wine"]] == [0.9]
    assert [one.accuracy.mean for one in found["usps"]] == [0.5]


def test_differences_are_paired_by_seed():
    mine, theirs = stand("a", 0.6, 1, True, (0.5, 0.7, 0.9)), stand("b", 0.5, 1, False, (0.4, 0.5))
    gap = standing.paired(mine, theirs)
    assert (gap.mean, gap.sd, gap.runs) == (pytest.approx(0.15), pytest.approx(0.05), 2)
    assert standing.paired(mine, stand("c", 0.4, 1)).mean == pytest.approx(0.2)


def test_the_frontier_is_what_nothing_beats_in_both():
    some = [stand("a", 0.5, 1), stand("b", 0.4, 2), stand("c", 0.9, 9, True), stand("d", 0.9, 12)]
    assert [one.method for one in standing.frontier(some)] == ["a", "c"]
    assert standing.is_on_frontier(some)
    assert not standing.is_on_frontier([*some, stand("e", 0.95, 0.5)])


def test_half_a_point_behind_is_level_and_only_beside_what_people_run_today():
    assert standing.is_level([stand("Leiden", 0.505, 1), stand("b", 0.5, 9, True)])
    assert not standing.is_level([stand("Leiden", 0.506, 1), stand("b", 0.5, 9, True)])
    assert not standing.is_level([stand("DEC", 0.4, 1), stand("b", 0.5, 9, True)]), "an easy peer"


def test_only_the_latest_settings_of_a_method_and_data_set_count():
    old, new, other = (
        record("PCX", data, 0, 0.5, settings={"a": a}) for data, a in (("x", 1), ("x", 2), ("y", 1))
    )
    assert figures.newest([old, new, other]) == [new, other]


def test_figures_and_tables_read_well():
    assert str(figures.Figure.of([0.5, 0.7])) == ".600 ± .100"
    assert str(figures.Figure.of([1.0])) == "1.000"
    made = figures.table(["data", "ACC"], [["digits", ".9"], ["usps", ""]])
    assert made.splitlines() == ["| data | ACC |", "| --- | ---: |", "| digits | .9 |", "| usps |  |"]


def test_a_page_keeps_everything_outside_the_markers(monkeypatch):
    monkeypatch.setitem(tables.TABLES, "pcx", lambda: "new\n")
    page = "before\n<!-- render: pcx -->\n{}<!-- render: end -->\nafter\n"
    assert tables.with_tables(page.format("old\n")) == page.format("new\n")


def test_the_exponent_is_that_of_a_power_law():
    assert exponent([10, 20, 80], [3 * n**1.5 for n in (10, 20, 80)]) == pytest.approx(1.5)


def test_a_drawing_is_sound_xml_with_every_point_inside_its_panel():
    panel = Panel(
        "a < b", [Series("s", [(0.1, 0.2), (100.0, 0.9)], "#123456", labels=["one", "two"])], "s", log_x=True
    )
    root = ElementTree.fromstring(drawing([panel, panel, panel], 2, [("s", "#123456")]))
    circles = [one for one in root.iter() if one.tag.endswith("circle")]
    assert len(circles) == 1 + 3 * 2
    for one in circles[1:]:
        assert 30 < float(one.get("cx")) < 250
        assert 20 < float(one.get("cy")) < 190


@pytest.fixture
def found():
    """Standings on four data sets: two fresh, two chosen."""
    some = {name: [] for name in standing.COMPARED}
    some["biopsy"] = [stand("Leiden", 0.8, 1, seeds=(0.8,)), stand("GraphClustering", 0.9, 9, True, (0.9,))]
    some["crabs"] = [stand("Leiden", 0.9, 1, seeds=(0.9,)), stand("GraphClustering", 0.7, 9, True, (0.7,))]
    some["digits"] = [stand("Leiden", 0.8, 1), stand("PCX", 0.802, 9, True)]
    some["usps"] = [stand("Leiden", 0.8, 1), stand("PCX", 0.9, 0.5, True)]
    return some


def test_the_first_sentences_count_fresh_and_chosen_sets_apart(found):
    fresh, chosen = peers.answer(found).splitlines()
    assert fresh.startswith("On **1 of 2** data sets that none of our defaults was chosen on, ")
    assert "and on **1** a coterie method is on the frontier" in fresh
    assert chosen.startswith("On **2 of 2** data sets that our defaults were chosen on, ")


def test_the_verdict_counts_what_is_won_level_and_lost(found):
    text = peers._verdict(found)
    assert (
        "Of 4 data sets, the best coterie method is ahead of every peer on 2, level with the best peer on 1 "
        in text
    )
    assert "behind it on 1." in text
    assert "No method of ours is on the frontier on crabs." in text
    assert "and not counted: breast-cancer, oils, " in text


def test_losses_stand_with_the_peers_that_are_ahead(found):
    lines = peers._losses(found).splitlines()
    assert lines[4:] == ["| crabs | fresh | GraphClustering .700 | Leiden .900 | -.200 | 1 |"]


def test_the_peer_beside_a_kind_of_data_is_one_for_all_its_sets(found):
    found["biopsy"].append(stand("lucky", 0.99, 1))
    line = expect.by_kind(found).splitlines()[2]
    assert line == "| measurements | fresh | 2 | .800 | 9.0 | Leiden .850 | 1.0 |  |"


def test_our_default_stands_against_each_peer_over_both_blocks(found):
    line = expect.head_to_head(found).splitlines()[2]
    assert line == "| Leiden | -.050 ± .150 | 1 / 0 / 1 |  |  | 0.1 |"


def test_a_figure_of_another_commit_is_marked(found):
    names = ("iris", "wine")
    some = {"iris": [stand("k-means", 0.8, 1, commit="a"), stand("PCX", 0.9, 9, True, commit="a")],
            "wine": [stand("k-means", 0.7, 1, commit="b")]}  # fmt: skip
    text = peers._matrix(some, names, lambda one: str(one.accuracy))
    assert "| k-means | .800 | .700° |" in text
    assert text.endswith("\nMost figures are of commit a.\n")


def test_the_pick_stands_in_bold_beside_every_method_and_the_best_peer(records, monkeypatch):
    records["peers"] = [record("k-means", "digits", 0, 0.7), record("PCX", "digits", 0, 0.8, ours=True)]
    chosen = [{"data": "digits", "picked": "PCX", "recorded": {"PCX": 0.5, "MVSIB": 0.9}}]
    monkeypatch.setattr(choices, "read_records", lambda name: {"choosing": chosen}[name])
    assert "| digits |  | **.800** |  |  |  | .900 | k-means .700 |" in choices.choosing()


def test_numbers_of_clusters_are_off_by_doublings_on_average(monkeypatch):
    alone = {"stability": 8, "modularity": 4, "drop": 2}
    counted = {"data": "digits", "classes": 4, "k": 8, "near": [6, 7], "clear": True, "alone": alone}
    monkeypatch.setattr(
        choices, "read_records", lambda name: {"counting": [counted, {**counted, "k": 4}]}[name]
    )
    lines = choices.counting().splitlines()
    assert lines[2] == "| digits | 4 | 8 | 6, 7 | yes | 8 | 4 | 2 |"
    assert lines[4] == "| doublings off, mean |  | 0.50 |  |  | 1.00 | 0.00 | 1.00 |"


def test_a_larger_fit_is_estimated_from_the_largest_that_was_measured(monkeypatch):
    small = {"method": "PCX", "rows": 10**4, "columns": 500, "passes": 2, "cpu_seconds": 9.0, "peak_mb": 9.0}
    larger = {**small, "rows": 10**6, "columns": 1024, "cpu_seconds": 7200.0, "peak_mb": 1024.0}
    files = {"disk": [larger], "scaling": [small], "growth": [], "scale": []}
    monkeypatch.setattr(large, "read_records", lambda name: files[name])
    lines = [line.split(" | ") for line in large.sizing().splitlines() if line.startswith("| PCX")]
    assert [line[-1] for line in lines] == ["measured |", "estimated |", "estimated |", "estimated |"]
    assert lines[0][1:7] == ["1,000,000", "1,024", "2", "2.00", "1.0", "4.1"]
    memory = 1 + 100 * (10**9 - 10**6) / 2**30
    assert lines[3][1:7] == ["1,000,000,000", "1,024", "2", "2,000", f"{memory:.1f}", "4,128"]


def test_the_defaults_stand_above_other_parameters_with_a_column_for_each_number_of_labels(monkeypatch):
    runs = [
        {"data": "digits", "labels": labels, "params": params, "accuracy": {"FUCSMF": share}}
        for params, labels, share in (({"adapt": 3}, 1, 0.7), ({"adapt": 3}, 0.3, 0.9), ({}, 1, 0.8))
    ]
    monkeypatch.setattr(trials, "read_records", lambda name: {"label-ablations": runs}[name])
    lines = trials.label_ablations().splitlines()
    assert lines[0] == "| data | with | 1 a class | 30% labels |"
    assert lines[2:4] == ["| digits | the defaults | .800 |  |", "| digits | `adapt=3` | .700 | .900 |"]


def test_seconds_of_solvers_are_those_of_the_last_run(monkeypatch):
    names = (
        "L-BFGS-B over the rows",
        "Newton-CG over the rows",
        "ten more labels",
        "LabelSpreading, end to end",
    )
    names += ("graph", "bare products of all columns", "bare products through the axes")
    last = {"solve": 0.5, "steps": 11, "their steps": 4} | dict.fromkeys(names, 3.0)
    monkeypatch.setattr(trials, "read_records", lambda name: {"solve": [{**last, "solve": 9.0}, last]}[name])
    lines = trials.solve().splitlines()
    assert lines[2:4] == ["| solve from zero, 11 steps | 0.5 | 1.0 |", "| L-BFGS-B over the rows | 3 | 6.0 |"]


def test_growth_with_rows_is_that_of_the_newest_record_of_each_size(monkeypatch):
    run = {
        "rows": 20_000,
        "sweeps": 10,
        "cpu_seconds": 9.0,
        "cpu_microseconds_a_row": 450.0,
        "peak_mb": 700.0,
    }
    run |= {"cpu_ratio_to_bare_products": 5.0, "cpu_ratio_to_all_bare_products": 2.0}
    monkeypatch.setattr(trials, "read_records", lambda name: {"scale": [{**run, "peak_mb": 1.0}, run]}[name])
    assert trials.scale().splitlines()[2] == "| 20,000 | 10 | 9 | 0.45 | 5.0 | 2.0 | 700 |"


def test_a_table_of_several_commits_says_so(monkeypatch):
    runs = [
        {"data": "digits", "noise": "neighbours", "share": 0, "accuracy": 0.9, "machine": {"commit": commit}}
        for commit in ("a1+", "b2", "a1")
    ]
    monkeypatch.setattr(trials, "read_records", lambda name: {"robustness": runs}[name])
    assert trials.robustness().endswith("```\n\nMeasured at 2 commits: a1, b2.\n")
    monkeypatch.setattr(trials, "read_records", lambda name: {"robustness": runs[::2]}[name])
    assert trials.robustness().endswith("robustness\n```\n")


def test_an_estimate_from_few_rows_counts_the_shards_they_did_not_fill():
    cost = large.Cost("PCX", 10**4, 1024, 2, 10.0, 500.0).at(10**6)
    filled = 2 * 128 - 4 * 1024 * 10**4 / 2**20
    assert cost.peak_mb == pytest.approx(500 + filled + 100 * 990_000 / 2**20)


def test_parts_on_and_off_are_means_over_seeds_beside_todays_defaults_with_those_seeds(monkeypatch):
    def run(data, score, params=None, **more):
        known = {
            "method": "SSCNet",
            "params": params or {},
            "settings": trials.settings_of(SSCNet, params or {}),
        }
        return {**known, "data": data, "seed": 0, "scores": {"accuracy": score}, **more}

    off = {"joint": False}
    files = {
        "accuracy": [
            run("usps", 0.9),
            run("digits", 0.8),
            run("coil20", 0.1),
            run("usps", 0.0, seed=2),
        ],
        "ablations": [
            run("usps", 0.7, off),
            run("usps", 0.6, off, seed=1),
            run("usps", 0.0, off, settings={"of": "other defaults"}),
            run("digits", 0.5, {"n_blocks": 2}),
        ],
    }
    monkeypatch.setattr(trials, "read_records", lambda name: files[name])
    lines = trials.ablations("sscnet").splitlines()
    assert lines[0] == "| ACC with | usps | digits | mean |"
    assert lines[2:5] == [
        "| the defaults | .900 | .800 | .850 |",
        "| `joint=False` | .650 |  |  |",
        "| `n_blocks=2` |  | .500 |  |",
    ]


def parts_record(regime, change, score, data="usps", seed=0, **more):
    known = {"data": data, "condition": "complete", "rows": 100, "shared": {}, "fitted_rows": 100}
    rest = {"scores": {"accuracy": score}, "clusters": 2, "used_clusters": 2, "cpu_seconds": 5.0}
    machine = {"commit": "a1"}
    return {**known, **rest, "regime": regime, "change": change, "seed": seed, "machine": machine, **more}


def test_what_a_part_adds_is_paired_by_seed_and_named_where_it_helps(monkeypatch):
    off = {"ci_unit": False}
    runs = [
        parts_record("paper", {}, 0.1, settings="of before"),
        parts_record("paper", {}, 0.8),
        parts_record("paper", {}, 0.9, seed=1),
        parts_record("paper", off, 0.7),
        parts_record("paper", {}, 0.5, "iris"),
        parts_record("paper", off, 0.6, "iris"),
        parts_record("ours", {}, 0.2, rows=10),
        parts_record("ours", {}, 0.9),
        parts_record("ours", off, 0.95),
    ]
    monkeypatch.setattr(parts, "read_records", lambda name: runs if name == "paper-parts-pcx" else [])
    unit = Part("CI-Unit", "Eq. 3", {"paper": ({}, off), "ours": ({}, off)})
    regimes = {"paper": Regime("as printed"), "ours": Regime("the defaults")}
    monkeypatch.setattr(parts, "PAPERS", {"pcx": Paper("pcx", "PC-X", regimes, [unit], ["usps"])})
    lines = parts.section().splitlines()
    printed = "MNIST .034, Fashion .093 (Table 6)"
    assert f"| PC-X | CI-Unit | Eq. 3 | {printed} | +.000 (2, 2) | -.050 (1, 1) | usps | nowhere |" in lines
    assert "| PC-X | usps | .850 ± .050 (5.0 s) |  |  |  | .900 (5.0 s) |" in lines
    assert "| as printed | `ci_unit=False` | .700 | .600 | 100% | 5.0 |" in lines


def test_a_row_of_a_papers_table_has_what_is_printed_apart_from_the_authors_code_and_one_commit(monkeypatch):
    def run(score, commit):
        known = {"data": "hdigit", "method": "LargeMvCNet", "params": {}, "settings": {}}
        return {**known, "scores": {"accuracy": score, "nmi": 0.5}, "machine": {"commit": commit}}

    runs = [run(0.9, "a1"), run(0.7, "b2+")]
    monkeypatch.setattr(papers, "read_records", lambda name: runs)
    row = {"where": "Table 1", "data": "hdigit", "reason": "So."}
    both = {**row, "printed": {"accuracy": 0.5}, "authors": {"accuracy": 0.6, "nmi": 0.4}}
    accuracy, nmi = papers._lines("LargeMvCNet", both)
    assert accuracy[2:] == ["ACC", ".500", ".600", ".800 ± .100", "2", ".300", ".998", "b2 *", "So."]
    assert nmi[2:] == ["NMI", "", ".400", ".500 ± .000", "2", ".100", "", "b2 *", ""]


def test_missing_views_are_averaged_over_data_sets_that_all_cases_have(monkeypatch):
    def one(data, rate, ours):
        return {
            "data": data,
            "reading": "rows",
            "rate": rate,
            "MVSIB": ours,
            "k-means": 0.5,
            "k-means, unit rows": 0.4,
        }

    runs = [one("a", 0.0, 0.9), one("a", 0.0, 0.8), one("a", 0.5, 0.6), one("b", 0.0, 0.7)]
    monkeypatch.setattr(trials, "read_records", lambda name: {"missing-mvsib": runs}[name])
    lines = trials.missing("mvsib").splitlines()
    assert lines[0] == "| data | complete | rows 0.5 |"
    assert lines[2] == "| a | .850 (.500, .400) | .600 (.500, .400) |"
    assert lines[-5:-3] == ["| mean | .775 (.500, .400) |  |", ""]
