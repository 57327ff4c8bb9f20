"""`choose_k` as a person uses it."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from coterie import InputError, choose_k
from coterie.graph import model
from coterie.graph.count import CountFigures
from coterie.methods.choosing.clusters import KChoice


def groups(k, n=240, d=6, seed=0):
    return make_blobs(n, d, centers=k, random_state=seed)[0]


def choice_of(*scores, stability=0.8):
    """Return a choice among 2, 3, ... with these scores."""
    figures = [CountFigures(k, score / np.log(k), stability, 0.5) for k, score in enumerate(scores, start=2)]
    return KChoice(tuple(figures), 100)


@pytest.mark.parametrize("k", [2, 5, 9])
def test_separated_groups_are_counted(k):
    choice = choose_k(groups(k), random_state=0)
    assert choice.k == k
    assert choice.clear
    assert choice.sentence.startswith(f"{k} clusters, on which resampled graphs agree to")


def test_several_views_are_counted_together_some_of_them_missing():
    rng = np.random.default_rng(0)
    kind = np.arange(240) % 4
    left, right = (np.eye(4)[kind] @ rng.normal(size=(4, d)) * 4 + rng.normal(size=(240, d)) for d in (6, 9))
    left[::9], right[4::9] = np.nan, np.nan
    assert choose_k({"left": left, "right": right}, random_state=0).k == 4


def test_a_cloud_without_groups_is_said_to_have_none():
    choice = choose_k(np.random.default_rng(0).normal(size=(400, 8)), random_state=0)
    assert not choice.clear
    assert choice.sentence.startswith("The rows do not tell how many clusters there are")
    assert "give n_clusters where you know it" in choice.sentence


def test_a_file_is_looked_at_through_a_sample(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", groups(3, n=3000).astype(np.float32))
    read = []
    plain = model.some_rows
    monkeypatch.setattr(model, "some_rows", lambda *given: read.append(plain(*given)) or plain(*given))
    choice = choose_k(tmp_path / "rows.npy", range(2, 7), sample_rows=200, random_state=0)
    assert (choice.k, choice.n_rows, len(read[0])) == (3, 200, 200)


def test_a_seed_decides_the_figures():
    X = groups(3, n=90)
    once, again = (choose_k(X, range(2, 6), random_state=3) for _ in range(2))
    assert once == again
    assert once != choose_k(X, range(2, 6), random_state=4)


def test_columns_can_be_cut_into_views():
    X = groups(3, n=90)
    assert choose_k(X, [2, 3, 4], views=[3, 3], random_state=0) == choose_k(
        [X[:, :3], X[:, 3:]], [2, 3, 4], random_state=0
    )


def test_a_number_is_not_clear_where_resampled_graphs_disagree_or_rivals_are_far_apart():
    assert choice_of(0.4, 0.1, stability=0.5).clear
    assert not choice_of(0.4, 0.1, stability=0.49).clear
    assert choice_of(0.4, 0.1, 0.1, 0.38).clear
    assert not choice_of(0.4, 0.1, 0.1, 0.1, 0.38).clear
    assert choice_of(0.4, 0.1, 0.1, 0.1, 0.38, stability=0.95).clear
    assert "6 is about as good. Take it as a guess" in choice_of(0.4, 0.1, 0.1, 0.1, 0.38).sentence


def test_numbers_with_nine_tenths_of_the_score_are_about_as_good():
    choice = choice_of(0.5, 0.46, 0.2, 0.455, 0.449)
    assert (choice.k, choice.near) == (2, (3, 5))
    assert choice.sentence.endswith("; 3 and 5 are about as good.")
    assert "about as good" not in choice_of(0.5, 0.2).sentence


def test_a_choice_at_the_end_of_the_range_says_so():
    assert choice_of(0.2, 0.5).sentence.endswith("it is the most that was tried.")
    assert "most that was tried" not in choice_of(0.5, 0.2).sentence


def test_print_shows_the_figures_of_every_number():
    lines = str(choice_of(0.5, 0.25)).splitlines()
    assert lines[1].split() == ["k", "score", "drop", "stability", "modularity"]
    assert lines[3].split() == ["3", "0.100", "0.228", "0.800", "0.500"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": np.zeros((5, 2))}, "X has 5 rows, too few"),
        ({"k_range": []}, "k_range is empty"),
        ({"k_range": [1, 2]}, "k_range has 1, but each number must be a whole number from 2 to 22"),
        ({"k_range": [2, 23]}, "k_range has 23"),
        ({"k_range": [2.5]}, "k_range has 2.5"),
        ({"sample_rows": 3}, "sample_rows=3"),
    ],
)
def test_a_mistake_is_one_sentence(given, words):
    with pytest.raises(InputError, match=words):
        choose_k(**{"X": groups(3, n=90), **given})
