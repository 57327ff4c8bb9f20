"""Texts, pictures and series as rows, their files, and what is said of those that cannot be read."""

import csv
import json

import numpy as np
import pytest
from PIL import Image
from sklearn.pipeline import make_pipeline

from coterie import GraphClustering
from coterie.data.describe.files import find_kind, read_things
from coterie.data.describe.images import ImageRows, hog
from coterie.data.describe.reading import Reading
from coterie.data.describe.series import SeriesRows
from coterie.data.describe.texts import TextRows, top_terms
from coterie.errors import InputError

TOPICS = ("cat purr whisker paw", "bond stock market price", "atom proton quark field")


def sentences(n_each=20):
    rng = np.random.default_rng(0)
    words = [topic.split() for topic in TOPICS]
    return [" ".join(["the", *rng.choice(words[k], 6)]) for k in range(3) for _ in range(n_each)]


KIND = np.repeat([0, 1, 2], 20)


def again(description):
    """Through JSON and arrays, as a file keeps it."""
    values, arrays = description.state()
    return type(description).from_state(json.loads(json.dumps(values)), arrays)


def test_a_word_weighs_by_the_log_of_its_count_and_of_its_rarity():
    texts = ["apple apple berry", "apple cherry", "berry berry berry"]
    rows = TextRows().fit(texts)
    counts = {"apple": [2, 1, 0], "berry": [1, 0, 3], "cherry": [0, 1, 0]}
    expected = np.zeros((3, 3))
    for j, word in enumerate(rows.words_):
        held = sum(count > 0 for count in counts[word])
        for i, count in enumerate(counts[word]):
            expected[i, j] = (1 + np.log(count)) * (1 + np.log(4 / (1 + held))) if count else 0
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(rows.weights(texts).toarray(), expected, rtol=1e-6)


def test_new_texts_are_described_by_the_words_of_the_fit_and_after_saving_alike():
    texts = sentences()
    rows = TextRows(n_axes=5).fit(texts)
    new = ["a cat and unheard-of words", "proton proton"]
    np.testing.assert_allclose(again(rows).transform(new), rows.transform(new), atol=1e-6)
    lengths = np.linalg.norm(rows.transform([*new, "nothing known"]), axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 0], atol=1e-5)


def test_texts_are_clustered_in_a_pipeline_and_named_by_their_words():
    texts = sentences()
    pipeline = make_pipeline(TextRows(n_axes=8), GraphClustering(3, n_resamples=0, random_state=0)).fit(texts)
    labels = pipeline.predict(["purr paw cat", "quark atom field", "bond price"])
    assert len(set(labels)) == 3
    terms = pipeline[0].cluster_terms(texts, pipeline[1].labels_)
    for label, topic in zip(labels, (0, 2, 1), strict=True):
        assert set(terms[label]) <= set(TOPICS[topic].split())


def test_top_terms_skip_words_that_all_clusters_have():
    assert top_terms(np.array([[1, 1, 0], [1, 0, 5]]), ["all", "one", "two"], [0, 1]) == {
        0: ["one"],
        1: ["two"],
    }
    assert top_terms(np.array([[1.0, 0], [0, 1.0]]), ["a", "b"], [-1, 0]) == {0: ["b"]}


def test_embeddings_of_the_user_take_the_place_of_word_weights():
    rows = TextRows(embed=lambda texts: [[len(text), 1.0] for text in texts]).fit(["ab cd", "efg hij"])
    np.testing.assert_allclose(rows.transform(["abc"]), [[3, 1] / np.sqrt(10)], rtol=1e-6)
    with pytest.raises(InputError, match="embed= is a function, which cannot be saved"):
        rows.state()
    with pytest.raises(InputError, match=r"embed= returned an array of shape \(1, 1\) for 2 texts"):
        TextRows(embed=lambda texts: [[1.0]]).fit_transform(["apple pie", "berry pie"])
    with pytest.raises(InputError, match="is no folder: give that of a sentence-transformers model"):
        TextRows(embed="some/model").fit_transform(["apple pie", "berry pie"])


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["a text", 3.5], r"Text 1 is a float \(3.5\), not a text"),
        (["a text", None], "Text 1 is empty, not a text"),
        ("one text", "X is one text, but a list of texts is needed"),
        ([], "There is no text"),
        (np.array([["a", "b"]]), r"X has shape \(1, 2\), but texts are one column"),
        (["the", "and"], "no words in common that could be weighed"),
    ],
)
def test_texts_that_are_none_are_one_sentence(texts, words):
    with pytest.raises(InputError, match=words):
        TextRows().fit(texts)


def test_an_empty_text_is_announced():
    with pytest.warns(UserWarning, match=r"1 text is empty \(first: row 1\)"):
        TextRows().fit(["cat dog", " ", "dog cat"])


# Pictures


def test_pixels_are_resized_and_keep_colour_only_where_there_is_some():
    grey = np.zeros((2, 64, 64), dtype=np.uint8)
    grey[0, :, 32:] = 255
    rows = ImageRows().fit(grey)
    assert rows.shape_ == [32, 32]
    picture = rows.transform(grey)[0].reshape(32, 32)
    assert picture[:, :15].max() < 1e-6
    np.testing.assert_allclose(picture[:, 17:], 1, atol=1e-5)
    red = np.stack([grey, grey * 0, grey * 0], axis=-1)
    assert ImageRows().fit(red).shape_ == [32, 32, 3]
    np.testing.assert_array_equal(again(rows).transform(grey), rows.transform(grey))


def test_hog_sees_edges_and_neither_brightness_nor_contrast():
    rng = np.random.default_rng(0)
    pictures = rng.random((3, 32, 32))
    np.testing.assert_allclose(hog(3 * pictures + 2), hog(pictures), atol=2e-3)
    slope = np.tile(np.arange(32.0), (1, 32, 1))
    first = hog(slope)[0].reshape(-1, 8)
    assert (first[:, 1:] == 0).all()  # a gradient from left to right has the first direction alone
    assert (first[:, 0] > 0).all()


def test_features_of_the_user_take_the_place_of_pixels():
    mean = ImageRows(features=lambda pictures: pictures.mean(axis=(1, 2)))
    assert mean.fit_transform(np.zeros((4, 20, 20))).shape == (4, 3)
    with pytest.raises(InputError, match="features= is a function, which cannot be saved"):
        mean.state()


@pytest.mark.parametrize(
    ("pictures", "words"),
    [
        (np.zeros((4, 5)), r"X has shape \(4, 5\), float64, but pictures are \(n, h, w\)"),
        (np.full((2, 20, 20), np.nan), "NaN or infinite"),
        (np.zeros((2, 20, 20, 7)), r"Picture 0 has shape \(20, 20, 7\)"),
        ([], "There is no picture"),
    ],
)
def test_arrays_that_are_no_pictures_are_one_sentence(pictures, words):
    with pytest.raises(InputError, match=words):
        ImageRows().fit_transform(pictures)


# Series


def test_a_pattern_share_is_counted_as_by_hand():
    rng = np.random.default_rng(0)
    series = rng.normal(size=(3, 12))
    rows = SeriesRows(z_normalise=False).fit(series)
    shares = rows.transform(series).reshape(3, 1, 84, 3)
    low, high, first = -1.0, 2.0, (0, 1, 2)
    for i in range(3):
        sums = []
        for time in range(12):
            total = 0.0
            for tap in range(9):
                at = time + tap - 4
                total += (high if tap in first else low) * (series[i, at] if 0 <= at < 12 else 0.0)
            sums.append(total)
        for q in range(3):
            assert shares[i, 0, 0, q] == pytest.approx(np.mean(np.array(sums) > rows.thresholds_[0, 0, 0, q]))


def test_series_of_one_shape_are_alike_wherever_it_is_and_at_any_size():
    base = np.zeros((4, 60))
    base[0, 10:20], base[1, 30:40] = 1, 1  # a step up and down, twice
    base[2, 10:12], base[3, 30:32] = 1, 1  # a spike
    rows = SeriesRows().fit(base)
    near = rows.transform(base)
    gaps = np.linalg.norm(near[:, None] - near, axis=2)
    assert gaps[0, 1] < gaps[0, 2]
    assert gaps[2, 3] < gaps[2, 1]
    np.testing.assert_allclose(rows.transform(5 * base - 3), near, atol=1e-6)


def test_series_alone_have_the_rows_they_have_together_and_after_saving():
    series = np.random.default_rng(0).normal(size=(6, 30, 2))
    rows = SeriesRows().fit(series)
    whole = rows.transform(series)
    assert whole.shape[1] == len(rows.get_feature_names_out())
    np.testing.assert_array_equal(again(rows).transform(series[2:3]), whole[2:3])


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (np.zeros((3, 5)), "The series have 5 times, but patterns need 9"),
        (np.full((2, 20), np.inf), "Series 0 is inf at time 0, channel 0"),
        (np.zeros(4), r"X has shape \(4,\), but series are"),
        ([[1.0], [1.0, 2.0]], "all of one length"),
    ],
)
def test_series_that_are_none_are_one_sentence(series, words):
    with pytest.raises(InputError, match=words):
        SeriesRows().fit(series)


def test_series_of_another_length_are_one_sentence():
    with pytest.raises(
        InputError, match=r"shape \(21, 1\) \(times, channels\), but those of the fit had \(20, 1\)"
    ):
        SeriesRows().fit(np.eye(20)).transform(np.ones((2, 21)))


# Files


def test_what_a_path_holds_is_found(tmp_path):
    for folder, name in (("notes", "a.txt"), ("pics", "deep/a.png")):
        (tmp_path / folder / name).parent.mkdir(parents=True)
        (tmp_path / folder / name).write_text("x")
    np.save(tmp_path / "bytes.npy", np.zeros((2, 3, 3), dtype=np.uint8))
    np.save(tmp_path / "reals.npy", np.zeros((2, 3, 3)))
    assert find_kind(tmp_path / "notes") == "texts"
    assert find_kind(tmp_path / "pics") == "images"
    assert find_kind(tmp_path / "bytes.npy") == "images"
    assert find_kind(tmp_path / "reals.npy", "series") == "series"
    with pytest.raises(InputError, match=r"reals.npy has shape \(2, 3, 3\): say --as series, or --as images"):
        find_kind(tmp_path / "reals.npy")
    with pytest.raises(InputError, match="--as poems is not known: it is one of table, texts"):
        find_kind(tmp_path / "notes", "poems")


def test_files_of_folders_are_classes_and_in_natural_order(tmp_path):
    for name in ("b/10.txt", "b/9.txt", "a/1.txt", ".hidden/0.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"text of {name}")
    things = read_things(tmp_path, "texts")
    assert things.items == [f"text of {name}" for name in ("a/1.txt", "b/9.txt", "b/10.txt")]
    np.testing.assert_array_equal(things.labels, [0, 1, 1])


@pytest.fixture
def notes(tmp_path):
    path = tmp_path / "notes.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body"])
        writer.writerows((i, f'{text},\nand "quoted"') for i, text in enumerate(sentences()))
    return path


def test_a_column_of_a_csv_file_may_have_commas_quotes_and_line_breaks(notes):
    items = read_things(notes, "texts", "body").items
    assert items == [f'{text},\nand "quoted"' for text in sentences()]


def test_a_column_of_a_parquet_file_is_read(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"body": ["one", None], "n": [1, 2]}), tmp_path / "t.parquet")
    assert read_things(tmp_path / "t.parquet", "texts", "body").items == ["one", ""]
    with pytest.raises(InputError, match=r"t.parquet, row 0, column 'n' is 1, not a text"):
        read_things(tmp_path / "t.parquet", "texts", "n")


def test_files_that_hold_something_else_are_one_sentence(notes, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for call, words in (
        (
            lambda: read_things(notes, "texts", "title"),
            "--text title: .*notes.csv has no such column; it has id",
        ),
        (lambda: read_things(notes, "texts"), "say with --text which of its columns"),
        (
            lambda: read_things(notes, "texts", "id"),
            "notes.csv, row 0, column 'id' is '0', and so on: numbers",
        ),
        (lambda: read_things(notes, "images"), "notes.csv holds no pictures"),
        (lambda: read_things(notes, "cells"), "notes.csv is no file of cells"),
        (lambda: read_things(empty, "images"), "empty has no images: put files there that end in .png"),
        (lambda: read_things(empty, "series"), "empty is a folder: give series as one"),
        (lambda: read_things(tmp_path / "none", "texts"), "There is no file"),
    ):
        with pytest.raises(InputError, match=words):
            call()


def test_a_picture_that_is_none_and_a_text_in_another_code_are_named(tmp_path):
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(InputError, match=r"a.png is not a picture that can be read"):
        Reading.fitted(tmp_path, "images")
    (tmp_path / "b.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match=r"b.txt is not UTF-8 text"):
        read_things(tmp_path, "texts")


def test_a_folder_of_pictures_becomes_rows_that_a_report_can_draw(tmp_path):
    for i in range(3):
        Image.new("RGB", (40, 20), (i * 100, 0, 0)).save(tmp_path / f"{i}.png")
    reading, views = Reading.fitted(tmp_path, "images")
    assert views.dims == (32 * 32 * 3,)
    assert reading.image_shape == (32, 32, 3)
    np.testing.assert_allclose(
        views.read(slice(None))[0].reshape(3, -1, 3)[:, 0, 0], [0, 100 / 255, 200 / 255]
    )
    values, arrays = reading.state()
    same = Reading.from_state(json.loads(json.dumps(values)), arrays).views(tmp_path)
    np.testing.assert_array_equal(same.read(slice(None))[0], views.read(slice(None))[0])
