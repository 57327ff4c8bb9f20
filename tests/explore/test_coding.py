"""What the report says about sparse codes: atoms, rows, and the graph of landmarks."""

import base64
import re
from html import escape

import numpy as np
import pytest
from benchmarks.making import make
from scipy import sparse

from coterie import SSCNet, write_report
from coterie.explore.coding import read_coding, read_graph, top_atoms
from coterie.explore.coding_panel import coding_panel
from coterie.explore.figures import landmark_figure
from coterie.explore.pictures import ImageLayout, encode_png
from coterie.explore.projection import Projection
from coterie.explore.rows import Table
from coterie.explore.summary import summarise

CENTRES = [[0.0, 0.0, 0.0, 0.0], [6.0, 0.0, 0.0, 6.0], [0.0, 9.0, 0.0, 0.0]]
SIZES = [8, 4, 4]
NAMES = ["width", "height", "depth", "mass"]
ATOMS = np.array([[0.0, 2.0, -4.0, 0.5], [1.0, 0.0, 0.0, 0.0], [-1.0, 1.0, 3.0, -2.0]], dtype=np.float32)
# Cluster 0 uses atom 0 as much as the others do together, cluster 1 alone uses atom 1.
USE = np.array([[0.3, 0.0, 0.6], [0.4, 0.5, 0.1], [0.2, 0.0, 0.2]], dtype=np.float32)
#   0 -4- 1   2 -3- 3   4 -1- 5, and 1 -2- 2 between the clusters
WEIGHTS = {(0, 1): 4.0, (2, 3): 3.0, (4, 5): 1.0, (1, 2): 2.0}
EVIL = "</script><img src=x onerror=alert(1)>\"'&"
LANDMARKS = np.array([0, 0, 1, 1, 2, 2])


def graph(weights=WEIGHTS, n=6):
    dense = np.zeros((n, n), dtype=np.float32)
    for (a, b), weight in weights.items():
        dense[a, b] = dense[b, a] = weight
    return sparse.csr_matrix(dense)


@pytest.fixture
def coded(fitted):
    """Return a model with codes made up by hand, and its rows."""
    model, X = fitted(CENTRES, SIZES)
    model.atoms_, model.atom_use_ = ATOMS, USE
    model.sparsity_ = np.array([0.12] * 9 + [0.72] * 7, dtype=np.float32)
    model.reconstruction_ = np.array([0.021 * i for i in range(15)] + [5.0], dtype=np.float32)
    model.landmark_graph_, model.landmark_labels_ = graph(), LANDMARKS
    model.landmark_places_ = np.repeat(np.eye(3, dtype=np.float32), 2, axis=0)
    return model, X


@pytest.fixture
def panel(coded):
    def make(change=None, **options):
        model, X = coded
        if change is not None:
            change(model)
        return coding_panel(summarise(model, X, embedding="pca", **options))

    return make


def read(coded, **options):
    model, X = coded
    return read_coding(model, Table(X, model, NAMES), model.labels_, embedding="pca", **options)


# Atoms


def test_atoms_are_ranked_by_their_use_over_that_of_all_other_rows():
    # Elsewhere for cluster 0, by rows: (4 * 0.4 + 4 * 0.2) / 8 = 0.3, a tie; (4 * 0.1 + 4 * 0.2) / 8 = 0.15.
    assert top_atoms(USE, np.array(SIZES), 0) == [(2, pytest.approx(4.0))]
    # Cluster 1: (8 * 0.3 + 4 * 0.2) / 12 = 4 / 15 for atom 0; none but it uses atom 1; atom 2 is used less.
    assert top_atoms(USE, np.array(SIZES), 1) == [(1, np.inf), (0, pytest.approx(1.5))]
    assert top_atoms(USE, np.array(SIZES), 2) == []


def test_among_atoms_used_nowhere_else_the_most_used_comes_first():
    use = np.array([[0.1, 0.3, 0.2, 0.0], [0.0, 0.0, 0.0, 0.0]])
    assert [number for number, _ in top_atoms(use, np.array([1, 1]), 0)] == [1, 2, 0]
    assert [number for number, _ in top_atoms(use, np.array([1, 1]), 0, count=2)] == [1, 2]


def test_an_atom_that_the_cluster_hardly_uses_is_left_out_however_rare_it_is_elsewhere():
    use = np.array([[1.0, 0.09, 0.11], [0.5, 0.0, 0.0]])
    assert [number for number, _ in top_atoms(use, np.array([1, 1]), 0)] == [2, 0]


def test_empty_clusters_have_no_atoms_and_do_not_count_as_elsewhere(coded):
    model, X = coded
    labels = np.where(model.labels_ == 1, 0, model.labels_)
    coding = read_coding(model, Table(X, model), labels, embedding="pca")
    assert coding.atoms[1] == []
    # Cluster 2 alone is elsewhere for cluster 0: 0.6 / 0.2 and 0.3 / 0.2.
    assert [(atom.number, atom.ratio) for atom in coding.atoms[0]] == [
        (2, pytest.approx(3.0)),
        (0, pytest.approx(1.5)),
    ]


def test_a_single_cluster_has_its_most_used_atoms_and_no_comparison():
    assert top_atoms(USE[:1], np.array([5]), 0) == [(2, None), (0, None)]


def test_the_largest_entries_of_an_atom_come_first_with_their_signs_and_without_zeros(coded):
    coding = read(coded)
    first = coding.atoms[0][0]
    assert (first.number, first.use, first.pixels) == (2, pytest.approx(0.6), None)
    assert [(entry.name, entry.weight) for entry in first.entries] == [
        ("depth", 3.0),
        ("mass", -2.0),
        ("width", -1.0),
        ("height", 1.0),
    ]
    assert [(entry.name, entry.weight) for entry in coding.atoms[1][0].entries] == [("width", 1.0)]


def test_atoms_are_drawn_on_one_scale_with_grey_for_zero(coded):
    atoms = read(coded, layout=ImageLayout(2, 2)).atoms
    # The brightest percent of the twelve values lies between 3 and 4.
    bright = np.percentile(np.abs(ATOMS), 99)
    for j, pixels in ((2, atoms[0][0].pixels), (1, atoms[1][0].pixels), (0, atoms[1][1].pixels)):
        expected = np.clip(np.rint(255 * (ATOMS[j] / bright + 1) / 2), 0, 255)
        np.testing.assert_array_equal(pixels.ravel(), expected)
    assert atoms[1][0].pixels.tolist() == [[160, 128], [128, 128]]
    assert atoms[0][0].entries == []


def test_several_views_share_the_entries_and_pixels_are_not_among_them(coded, nearest):
    model, X = coded
    wide = np.array([[0.1] * 4, [0.2] * 4, [-0.5, 0.1, 0.1, 0.1]], dtype=np.float32)
    model.atoms_ = [wide, ATOMS[:, :1]]
    views = {"image": X, "table": X[:, :1]}
    table = Table(views, nearest(), {"image": NAMES, "table": ["age"]})
    plain = read_coding(model, table, model.labels_, embedding="pca").atoms[0][0]
    assert [(entry.view, entry.name) for entry in plain.entries[:2]] == [("table", "age"), ("image", "width")]
    assert len(plain.entries) == 4
    drawn = read_coding(model, table, model.labels_, layout=ImageLayout(2, 2), embedding="pca").atoms[0][0]
    assert [(entry.view, entry.weight) for entry in drawn.entries] == [("table", -1.0)]
    assert drawn.pixels.shape == (2, 2)


# Rows


def test_rows_are_counted_in_steps_and_errors_above_one_fall_in_the_last(coded):
    coding = read(coded)
    assert coding.zeros.median == pytest.approx(0.12)
    assert {i: n for i, n in enumerate(coding.zeros.counts) if n} == {2: 9, 14: 7}
    # 0, 0.021, 0.042 | 0.063, 0.084 | ... and an error of 5; half of 16 are up to 0.147, the next is 0.168.
    assert coding.errors.median == pytest.approx(0.1575)
    assert coding.errors.counts[:2].tolist() == [3, 2]
    assert (coding.errors.counts[-1], coding.errors.counts.sum(), coding.errors.above) == (1, 16, 1)


def test_the_ten_rows_with_the_largest_error_come_with_their_cluster_and_zeros(coded):
    worst = read(coded).worst
    assert [one.row for one in worst] == list(range(15, 5, -1))
    assert (worst[0].cluster, worst[0].error, worst[0].zeros) == (2, 5.0, pytest.approx(0.72))
    assert (worst[-1].cluster, worst[-1].error, worst[-1].zeros) == (
        0,
        pytest.approx(0.126),
        pytest.approx(0.12),
    )


def test_the_rows_with_the_largest_error_have_an_image_although_nothing_else_shows_them(coded, fitted):
    model, X = fitted(CENTRES, [60, 30, 30])
    shown = set(summarise(model, X, image_shape=(2, 2), embedding="pca").thumbnails.rows)
    hidden = [row for row in range(120) if row not in shown][:10]
    for name in ("atoms_", "atom_use_", "landmark_graph_", "landmark_labels_", "landmark_places_"):
        setattr(model, name, getattr(coded[0], name))
    model.sparsity_ = np.zeros(120)
    model.reconstruction_ = np.isin(np.arange(120), hidden) * 0.5
    summary = summarise(model, X, image_shape=(2, 2), embedding="pca")
    assert [one.row for one in summary.coding.worst] == hidden
    assert set(hidden) <= set(summary.thumbnails.rows)


# Landmarks


def test_edges_islands_and_shares_of_a_small_graph():
    landmark_graph = read_graph(graph(), LANDMARKS, Projection(np.zeros((6, 2)), "PCA"), n_clusters=4)
    assert (landmark_graph.n_edges, landmark_graph.n_components) == (4, 2)
    assert landmark_graph.edges.tolist() == [[0, 1], [2, 3], [1, 2], [4, 5]]
    assert landmark_graph.within == pytest.approx(8 / 10)
    # Cluster 0 has 4 at both ends within and 2 to cluster 1; cluster 1 has 3 at both ends.
    expected = [[8 / 10, 2 / 10, 0, 0], [2 / 8, 6 / 8, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert landmark_graph.shares == pytest.approx(np.array(expected))


def test_loops_and_stored_zeros_are_no_edges():
    loops = graph({**WEIGHTS, (0, 5): 9.0}) + sparse.eye(6, format="csr")
    loops.data[loops.data == 4.0] = 0.0
    landmark_graph = read_graph(loops, LANDMARKS, Projection(np.zeros((6, 2)), "PCA"), n_clusters=3)
    assert landmark_graph.edges.tolist() == [[0, 5], [2, 3], [1, 2], [4, 5]]
    assert landmark_graph.n_edges == 4
    nothing = read_graph(graph({}), LANDMARKS, Projection(np.zeros((6, 2)), "PCA"), n_clusters=3)
    assert (nothing.n_edges, nothing.n_components, nothing.within) == (0, 6, 1.0)


def test_of_very_many_edges_the_strongest_are_drawn():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(1, 2, size=(100, 100)), 1)
    whole = read_graph(
        sparse.csr_matrix(upper + upper.T),
        np.zeros(100, dtype=int),
        Projection(np.zeros((100, 2)), "PCA"),
        n_clusters=1,
    )
    assert (whole.n_edges, len(whole.edges)) == (4950, 3000)
    drawn = upper[whole.edges[:, 0], whole.edges[:, 1]]
    assert drawn.min() == np.sort(upper[upper > 0])[-3000]


def test_the_figure_has_a_broken_line_of_edges_below_dots_in_the_colours_of_the_map(coded):
    model, X = coded
    summary = summarise(model, X, embedding="pca")
    lines, dots = landmark_figure(summary.coding.graph)["data"]
    assert (lines["mode"], dots["mode"]) == ("lines", "markers")
    assert len(lines["x"]) == 3 * 4
    x, y = dots["x"], dots["y"]
    assert lines["x"][:6] == [x[0], x[1], None, x[2], x[3], None]
    assert lines["y"][6:9] == [y[1], y[2], None]
    assert dots["marker"]["color"] == dots["customdata"] == LANDMARKS.tolist()
    assert len(dots["marker"]["colorscale"]) == 2 * 3


# The page


def test_a_model_without_atoms_has_no_panel_and_no_graph(fitted, tmp_path):
    model, X = fitted(CENTRES, SIZES)
    summary = summarise(model, X, embedding="pca")
    assert summary.coding is None
    assert coding_panel(summary) == ""
    page = write_report(model, X, tmp_path / "r.html", embedding="pca").read_text("utf-8")
    assert '"landmarks":null' in page
    assert 'id="landmark-plot"' not in page


def test_without_images_the_panel_names_features_and_uses(panel):
    html = panel(feature_names=NAMES)
    assert re.findall(r'<section id="(\w+)"', html) == ["atoms", "codes", "landmarks"]
    assert "<img" not in html
    assert "0.60, 4.0 x elsewhere" in html
    assert "0.50, only here" in html
    assert '<span class="name" title="depth">depth</span> <span>+3.00</span>' in html
    assert "Uses no atom more than other rows do." in html
    assert re.findall(r"Cluster (\d)</h3>", html) == ["0", "1", "2"]
    assert "grey zero" not in html


def test_the_largest_cluster_comes_first_and_empty_ones_are_left_out(panel):
    def swap(model):
        model.labels_ = np.where(model.labels_ == 0, 2, np.where(model.labels_ == 2, 1, 1))
        model.exemplar_indices_ = np.array([-1, 8, 0])

    assert re.findall(r"Cluster (\d)</h3>", panel(swap)) == ["1", "2"]


def test_with_images_atoms_and_the_worst_rows_are_pictures(panel, coded):
    html = panel(image_shape=(2, 2))
    pixels = read(coded, layout=ImageLayout(2, 2)).atoms[0][0].pixels
    assert base64.b64encode(encode_png(pixels)).decode() in html
    alts = re.findall(r'<img [^>]*alt="([^"]*)"', html)
    assert alts[:3] == ["Atom 2 of cluster 0", "Atom 1 of cluster 1", "Atom 0 of cluster 1"]
    assert alts[3:] == [f"Row {row}" for row in range(15, 5, -1)]
    assert "Black is negative, grey zero, white positive" in html
    assert "Adds most to" not in html


def test_the_panel_says_the_medians_and_the_cut(panel):
    html = panel()
    assert "In the median row 12% of the code is zero." in html
    assert "The median row has an error of 16%. 1 row above 1 in the last box." in html
    assert "6 landmarks and 4 edges in 2 connected components" in html
    assert "80.0% of the edge weight stays within clusters." in html
    assert "strongest edges" not in html
    assert "</span>0</th><td>80.0%</td><td>20.0%</td><td></td>" in html


def test_many_clusters_are_added_up_in_the_table_of_the_graph(panel):
    def widen(model):
        n = 25
        ring = {(i, (i + 1) % n): 1.0 for i in range(n)}
        model.atom_use_ = np.tile(USE[:1], (n, 1))
        model.landmark_graph_, model.landmark_labels_ = graph(ring, n), np.arange(n)
        model.landmark_places_ = np.eye(n, dtype=np.float32)

    html = panel(widen)
    assert html.count('<th scope="col">to ') == 20 + 1
    # Cluster 22 leads to 21 and 23 alone, cluster 19 to 18 and to 20, which has no column of its own.
    assert f"</span>22</th>{'<td></td>' * 20}<td>100.0%</td>" in html
    assert f"</span>19</th>{'<td></td>' * 18}<td>50.0%</td><td></td><td>50.0%</td>" in html


def test_the_atoms_of_many_clusters_fold_away(coded, fitted):
    centres = 50 * np.random.default_rng(0).normal(size=(14, 4))
    model, X = fitted(centres, [5] * 14)
    for name in ("atoms_", "landmark_graph_", "landmark_labels_", "landmark_places_"):
        setattr(model, name, getattr(coded[0], name))
    model.atom_use_ = np.tile(USE[:1], (14, 1))
    model.sparsity_ = model.reconstruction_ = np.zeros(70)
    html = coding_panel(summarise(model, X, embedding="pca"))
    assert html.count('class="card"') == 14
    assert html.index("Show the other 2 clusters") > html.index("Cluster 11</h3>")
    assert html.index("Show the other 2 clusters") < html.index("Cluster 12</h3>")


def test_names_of_views_and_features_stay_text(coded, tmp_path):
    model, X = coded
    model.atoms_ = [ATOMS[:, :2], ATOMS[:, 2:]]
    model.set_params(views={EVIL: [0, 1], "b": [2, 3]})
    names = {EVIL: ["width", "height"], "b": [EVIL, "mass"]}
    page = write_report(model, X, tmp_path / "r.html", feature_names=names, embedding="pca").read_text(
        "utf-8"
    )
    shown = page[page.index('<section id="atoms"') : page.index('<section id="codes"')]
    assert f">b: {escape(EVIL)}</span> <span>+3.00</span>" in shown
    assert f">{escape(EVIL)}: width</span> <span>-1.00</span>" in shown
    assert "<img" not in page[: page.index("<script")]


def test_the_panel_agrees_with_a_real_fit(tmp_path):
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 2
    views = [(kind[:, None] * 4 + rng.normal(size=(60, d))).astype(np.float32) for d in (3, 2)]
    small = {"n_atoms": 8, "n_landmarks": 30, "graph_neighbors": 5, "n_neighbors": 5, "batch_size": 32}
    model = make(SSCNet, 2, max_epochs=3, random_state=0, **small).fit(views)
    page = write_report(model, views, tmp_path / "r.html", embedding="pca").read_text("utf-8")
    edges = model.landmark_graph_.tocoo()
    same = model.landmark_labels_[edges.row] == model.landmark_labels_[edges.col]
    assert f"{edges.data[same].sum() / edges.data.sum():.1%} of the edge weight stays" in page
    assert f"The median row has an error of {np.median(model.reconstruction_):.0%}." in page
    assert '"landmarks":{"data":' in page
    assert 'id="landmark-plot"' in page
