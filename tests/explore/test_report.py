import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from coterie.errors import InputError
from coterie.explore import report, write_report

CENTRES = [[0.0, 0.0, 0.0, 0.0], [6.0, 0.0, 0.0, 6.0], [0.0, 9.0, 0.0, 0.0]]
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
VOID = {"meta", "img", "input", "br"}


class Page(HTMLParser):
    """Reads a page, and checks that elements close in the order in which they opened."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.scripts = [], [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def data(self):
        return json.loads(self.scripts[0])

    @property
    def text(self):
        return " ".join(self.texts)


@pytest.fixture
def page(fitted, tmp_path):
    """Return a function that writes a report of a small model and reads it back."""

    def make(sizes=(30, 20, 10), centres=CENTRES, change=None, **options):
        model, X = fitted(centres, sizes)
        if change is not None:
            change(model)
        return Page(
            write_report(model, X, tmp_path / "r.html", **({"embedding": "pca"} | options)).read_text("utf-8")
        )

    return make


def test_the_page_has_every_part_and_one_main_heading(page):
    report = page(truth=["a"] * 30 + ["b"] * 30)
    ids = [attributes["id"] for attributes in report.all("section")]
    assert ids == ["scores", "map", "clusters", "sizes", "confidence", "uncertain", "training", "parameters"]
    assert len(report.all("h1")) == 1
    for fact in ("Nearest", "60", "4 s", "random_state", "main directions (PCA)"):
        assert fact in report.text


def test_scores_appear_only_with_known_classes(page):
    assert "Fowlkes-Mallows" not in page(compare={"k-means": np.zeros(60)}).text
    report = page(truth=np.repeat([0, 1], 30), compare={"k-means": np.zeros(60)})
    assert "k-means" in report.text
    assert "Fowlkes-Mallows" in report.text


def test_nothing_is_loaded_from_anywhere(page):
    found = page(image_shape=(2, 2))
    for tag, attributes in found.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        for name in ("src", "href", "srcset", "action"):
            assert re.match(r"$|#|data:image/png;base64,", attributes.get(name, ""))
    assert "url(" not in report.resource("style.css")


def test_the_policy_allows_exactly_the_two_scripts_of_the_page(page):
    report = page()
    (policy,) = (a["content"] for a in report.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    types = [attributes.get("type") for attributes in report.all("script")]
    assert types == ["application/json", None, None]
    hashes = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in report.scripts[1:]}
    assert allowed == hashes
    assert "unsafe-eval" not in policy
    assert "connect-src" not in policy


def test_strings_from_the_data_stay_text_wherever_they_come_from(page):
    def spoil(model):
        model.history_ = [{"phase": EVIL, f"loss{EVIL}": 1.0, "seconds": 1.0}]
        model.versions_ = {EVIL: EVIL}
        model.random_state = EVIL

    report = page(
        change=spoil,
        title=EVIL,
        feature_names=[EVIL, "b", "c", "d"],
        truth=[EVIL] * 30 + ["b"] * 30,
        compare={EVIL: np.zeros(60)},
    )
    assert len(report.all("script")) == 3
    assert not set("<>&") & set(report.scripts[0]), "the data of the plots could end their script element"
    assert not any("onerror" in attributes for _, attributes in report.elements)
    assert report.all("img") == []
    assert report.text.count("alert(1)") >= 8
    assert EVIL in report.text


def test_names_of_views_stay_text_too(nearest, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = nearest([[0.0, 0.0], [1.0, 1.0]]).fit(X)
    path = write_report(model, {EVIL: X[:, :1], "b": X[:, 1:]}, tmp_path / "r.html", embedding="pca")
    report = Page(path.read_text("utf-8"))
    assert len(report.all("script")) == 3
    assert EVIL in report.text


def test_class_names_reach_the_plot_as_text_without_markup(page):
    report = page(truth=[EVIL] * 30 + ["b"] * 30)
    hovers = {entry[3] for entry in report.data["map"]["data"][0]["customdata"]}
    assert not any("<" in hover for hover in hovers)
    assert any("&lt;script&gt;" in hover for hover in hovers)


def test_the_map_shows_each_row_with_its_cluster_confidence_and_class(page, fitted):
    model, X = fitted(CENTRES, (30, 20, 10))
    truth = np.repeat([0, 1, -1], 20)
    figure = page(truth=truth)
    dots, diamonds = figure.data["map"]["data"]
    assert len(dots["x"]) == len(dots["y"]) == 60
    row, cluster, confidence, known = dots["customdata"][59]
    assert (row, cluster, known) == (59, "2: high feature 1, low feature 0", "not labelled")
    assert confidence == pytest.approx(model.predict_proba(X)[59].max(), abs=1e-3)
    assert [entry[0] for entry in diamonds["customdata"]] == sorted(model.exemplar_indices_.tolist())
    assert set(figure.data["map"]["modes"]) == {"cluster", "confidence", "class"}
    assert figure.data["map"]["groups"]["class"][0] == truth.tolist()
    radios = [(radio["name"], radio["value"]) for radio in figure.all("input")]
    assert radios[:2] == [("layout", "0"), ("layout", "1")]
    assert [value for _, value in radios[2:]] == ["cluster", "confidence", "class"]
    by_data, by_model = figure.data["map"]["places"]
    assert by_data[0]["x"] == dots["x"]
    assert len(by_model[0]["x"]) == 60


def test_the_colours_of_dots_and_buttons_agree(page):
    report = page(truth=["a"] * 30 + ["b"] * 30)
    for mode, shift in (("cluster", 0), ("class", 1)):
        marker = report.data["map"]["modes"][mode]
        # The scale has one step per whole number, and unlabelled rows come before the first class.
        assert marker["color"] == [group + shift for group in report.data["map"]["groups"][mode][0]]
        assert (marker["cmin"], marker["cmax"]) == (-0.5, len(marker["colorscale"]) / 2 - 0.5)
        wanted = [colour for _, colour in marker["colorscale"][::2]][shift:]
        at = next(i for i, (_, a) in enumerate(report.elements) if a.get("data-mode") == mode)
        swatches = [a["style"] for _, a in report.elements[at:] if a.get("class") == "swatch"]
        assert swatches[: len(wanted)] == [f"background:{colour}" for colour in wanted]


def test_images_have_alternative_texts_and_the_decoded_one_stands_beside_the_real_one(page):
    report = page(image_shape=(2, 2))
    alts = [attributes["alt"] for attributes in report.all("img")]
    assert all(alts)
    assert sum(alt.startswith("Decoded exemplar") for alt in alts) == 3
    assert "What sets cluster" not in report.text


def test_without_images_the_features_that_set_clusters_apart_are_listed(page):
    report = page(feature_names=["width", "height", "depth", "mass"])
    assert report.all("img") == []
    assert {"width", "height"} <= set(report.texts)


def test_every_plot_is_described_and_has_its_numbers_in_a_table(page):
    report = page()
    plots = [attributes for _, attributes in report.elements if attributes.get("role") == "img"]
    spreads = [attributes for attributes in plots if attributes.get("class") == "spread"]
    assert len(spreads) == 3 * 4
    assert len(plots) - len(spreads) == 2 + len(report.data["curves"])
    assert all(attributes["aria-label"] for attributes in plots)
    assert {"Training", "Rows by confidence", "Rows in each cluster"} <= set(report.texts)


def test_each_curve_has_its_own_panel_with_phases(page):
    curves = page().data["curves"]
    assert [curve["name"] for curve in curves] == ["loss", "seconds", "entropy"]
    assert curves[2]["data"][0]["y"] == [None, 0.5]
    assert "markers" in curves[2]["data"][0]["mode"], "a single point has no line"
    assert [note["text"] for note in curves[0]["layout"]["annotations"]] == ["warm-up", "clustering"]


def memberships(rows):
    """Return a change of the model: `predict_proba` gives these shares of two clusters, row by row."""
    return lambda model: setattr(model, "predict_proba", lambda X: np.resize(rows, (len(X), 2)))


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ([[1.0, 0.0]], "The model is certain of every row: none has a confidence below 0.99."),
        (
            [[0.995, 0.005], [1.0, 0.0]],
            "The model is certain of every row: none has a confidence below 0.99.",
        ),
        ([[0.6, 0.4]], "Every row has the same confidence, 0.60: none is less certain than the others."),
    ],
)
def test_rows_that_are_all_as_sure_are_not_listed_as_the_least_certain(page, shares, sentence):
    report = page(sizes=[30, 0], centres=CENTRES[:2], change=memberships(shares))
    assert sentence in report.text
    assert "look here first" not in report.text
    assert "Runner-up" not in report.text


def test_rows_at_the_bounds_count_among_the_sure_and_the_unsure(page):
    report = page(
        sizes=[30, 0], centres=CENTRES[:2], change=memberships([[0.5, 0.5], [0.9, 0.1], [0.7, 0.3]])
    )
    assert "33% of the rows have a confidence of 0.9 or more, 33% of 0.5 or less." in report.text


def test_a_sample_of_sure_rows_says_nothing_of_the_others(page):
    report = page(sizes=[30, 0], centres=CENTRES[:2], change=memberships([[1.0, 0.0]]), max_rows=10)
    assert "The model is certain of every sampled row:" in report.text


def test_one_cluster_leaves_no_row_between_two(page):
    report = page(sizes=[30], centres=[[0.0, 0.0]])
    assert "There is only one cluster, so no row lies between two." in report.text


def test_sure_rows_do_not_fill_up_the_list_of_the_least_certain(page):
    shares = np.repeat([[1.0, 0.0]], 30, axis=0)
    shares[7] = 0.7, 0.3
    report = page(sizes=[30, 0], centres=CENTRES[:2], change=memberships(shares))
    assert "The 1 row with the lowest confidence: look here first." in report.text
    assert report.texts.count("Runner-up") == 1


def test_a_hundred_clusters_fold_away_and_remain_reachable(fitted, tmp_path):
    centres = np.random.default_rng(0).normal(size=(100, 4)) * 50
    model, X = fitted(centres, [5] * 100)
    source = write_report(model, X, tmp_path / "r.html", embedding="pca").read_text("utf-8")
    report = Page(source)
    assert "Show the other 88 clusters" in report.text
    assert "All 100 clusters in a table" in report.text
    assert sum(attributes.get("class") == "card" for attributes in report.all("article")) == 100
    assert len({attributes.get("data-group") for attributes in report.all("button")} - {None}) == 100


def test_a_long_training_is_thinned_in_the_table_but_not_in_the_plot(page):
    def lengthen(model):
        model.history_ = [{"epoch": i, "loss": 1 / (i + 1)} for i in range(1000)]

    report = page(change=lengthen)
    assert "every 5th epoch" in report.text
    assert len(report.data["curves"][0]["data"][0]["y"]) == 1000


@pytest.mark.parametrize("unit", ["iteration", "sweep"])
def test_what_is_no_epoch_is_not_called_one(page, unit):
    def solve(model):
        model.history_ = [{unit: i, "objective": 1 / (i + 1)} for i in range(1000)]

    report = page(change=solve)
    assert f"1,000 {unit}s." in report.text
    assert f"every 5th {unit} and the last" in report.text
    assert unit.capitalize() in report.texts
    assert report.data["curves"][0]["data"][0]["hovertemplate"].startswith(f"{unit} %{{x}}")
    assert "epoch" not in report.text.lower()


def test_a_phase_that_only_repeats_what_its_steps_are_is_not_told(page):
    sweeps = [{"sweep": i, "phase": "sweep", "objective": 1.0} for i in range(3)]
    trained = [{"epoch": 0, "phase": "train", "loss": 1.0}, *sweeps]
    assert "3 sweeps. " in page(change=lambda model: setattr(model, "history_", sweeps)).text
    mixed = page(change=lambda model: setattr(model, "history_", trained)).text
    assert "4 steps in phases: train (1), sweep (2 to 4)." in mixed


def test_a_single_cluster_and_no_history_still_make_a_page(page):
    report = page(sizes=[30], centres=[[0.0, 0.0]], change=lambda model: setattr(model, "history_", []))
    assert report.data["curves"] == []
    assert "keeps no history" in report.text


def test_an_empty_cluster_has_no_card_but_is_counted(page):
    report = page(sizes=[30, 20, 0], change=lambda m: m.exemplar_indices_.__setitem__(2, -1))
    assert "2 (and 1 empty)" in report.text
    assert len(report.all("article")) == 2


def test_the_same_call_writes_the_same_file(fitted, tmp_path):
    model, X = fitted(CENTRES, (30, 20, 10))
    one, two = (write_report(model, X, tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert one == two


def test_a_failed_write_leaves_the_old_report_and_no_litter(fitted, tmp_path, monkeypatch):
    model, X = fitted(CENTRES, (30, 20, 10))
    path = tmp_path / "r.html"
    path.write_text("old")

    def fail(source, target):
        raise OSError("disk full")

    monkeypatch.setattr(report.os, "replace", fail)
    with pytest.raises(InputError, match=r"Cannot write .*r\.html: disk full"):
        write_report(model, X, path, embedding="pca")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.html"]


def test_missing_folders_are_made_and_the_path_is_returned(fitted, tmp_path):
    model, X = fitted(CENTRES, (30, 20, 10))
    path = write_report(model, X, str(tmp_path / "new" / "r.html"), embedding="pca")
    assert path == tmp_path / "new" / "r.html"
    assert path.exists()


def test_without_plotly_the_message_says_what_to_install(fitted, tmp_path, monkeypatch):
    model, X = fitted(CENTRES, (30, 20, 10))
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(InputError, match=r"needs plotly: pip install 'coterie\[explore\]'"):
        write_report(model, X, tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []
