"""Labels for tables in pieces, as Dask, Ray and Spark ask for them."""

import pickle
from pathlib import Path

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from tests.test_docs import python_blocks

from coterie import MVSIB, GraphClustering, InputError, label_frames, load
from coterie.cli import run

PAGE = Path(__file__).parents[1] / "docs" / "many-processes.md"
RNG = np.random.default_rng(0)
ROWS = (6 * RNG.normal(size=(3, 4)))[np.arange(90) % 3] + RNG.normal(size=(90, 4))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A run with gaps and identifiers, and a frame of its rows in which the columns have another order."""
    folder = tmp_path_factory.mktemp("frames")
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    frame.iloc[::9, 1] = np.nan
    frame.insert(0, "customer", [f"c{i}" for i in range(90)])
    frame.to_csv(folder / "rows.csv", index=False)
    command = ["fit", str(folder / "rows.csv"), "-k", "3", "--out", str(folder / "run"), "--quiet"]
    assert run(command) == 0
    return folder, frame[["d", "b", "customer", "a", "c"]]


def test_a_frame_gets_the_labels_of_the_fit_whatever_the_order_of_its_columns(place):
    folder, frame = place
    frame = frame.set_axis(range(500, 590))
    labelled = label_frames(folder / "run", keep=["customer"])(frame)
    want = pd.read_csv(folder / "run" / "labels.csv")
    assert labelled.columns.tolist() == ["customer", "cluster", "confidence"]
    assert labelled.index.equals(frame.index)
    assert labelled["cluster"].tolist() == want["cluster"].tolist()
    assert labelled["customer"].tolist() == want["customer"].tolist()
    np.testing.assert_allclose(labelled["confidence"], want["confidence"], atol=1e-5)


def test_the_function_is_sent_as_the_path_of_the_model_and_nothing_else(place):
    folder, frame = place
    label = label_frames(folder / "run")
    label(frame)
    sent = pickle.dumps(label)
    assert len(sent) < 500
    assert str(folder / "run").encode() in sent
    pd.testing.assert_frame_equal(pickle.loads(sent)(frame), label(frame))


def test_dask_maps_partitions_of_which_some_are_empty(place):
    folder, frame = place
    label = label_frames(folder / "run")
    table = dask.dataframe.from_pandas(frame, npartitions=4)
    few = table[table["a"] > frame["a"].quantile(0.9)]
    found = few.map_partitions(label).compute(scheduler="sync")
    want = label(frame)
    pd.testing.assert_frame_equal(found.sort_index(), want.loc[found.index].sort_index(), check_dtype=False)


def test_spark_gives_an_iterator_of_frames_and_takes_one(place):
    folder, frame = place
    label = label_frames(folder / "run", keep=["customer"])
    batches = label.iterate(iter([frame[:40], frame[40:40], frame[40:]]))
    assert iter(batches) is batches
    parts = list(batches)
    assert [len(part) for part in parts] == [40, 0, 50]
    assert {tuple(part.dtypes) for part in parts if len(part)} == {tuple(parts[1].dtypes)}
    pd.testing.assert_frame_equal(pd.concat(parts), label(frame), check_dtype=False)


def test_ray_makes_the_object_in_an_actor_and_gives_it_batches(place):
    """So does map_batches(FrameLabeller, fn_constructor_args=...); batches have an index of their own."""
    from coterie.frames import FrameLabeller

    folder, frame = place
    made = pickle.loads(pickle.dumps((FrameLabeller, (str(folder / "run"),), {"keep": ["customer"]})))
    actor = made[0](*made[1], **made[2])
    batches = [frame[i : i + 32].reset_index(drop=True) for i in range(0, 90, 32)]
    found = pd.concat([actor(batch) for batch in batches], ignore_index=True)
    want = pd.read_csv(folder / "run" / "labels.csv")
    assert found["cluster"].tolist() == want["cluster"].tolist()


def test_a_model_file_takes_its_columns_by_name_and_a_deep_model_works_alike(place, tmp_path):
    _, frame = place
    rows = frame[["a", "c", "d"]]
    for model in (GraphClustering(3, random_state=0), MVSIB(3, max_epochs=2, hidden=(8,), random_state=0)):
        model.fit(rows).save(tmp_path / "model.coterie")
        label = label_frames(tmp_path / "model.coterie", keep=[])
        want = load(tmp_path / "model.coterie").predict(rows)
        assert label(frame)["cluster"].tolist() == want.tolist()
        assert label(rows[["d", "a", "c"]])["cluster"].tolist() == want.tolist()


def test_a_frame_that_lacks_a_column_and_a_model_that_is_not_there_are_one_sentence(place):
    folder, frame = place
    with pytest.raises(InputError, match="X lacks the column 'a'"):
        label_frames(folder / "run")(frame.drop(columns="a"))
    with pytest.raises(InputError, match="There is no run or model at"):
        label_frames(folder / "nothing")


def test_the_recipes_of_the_page_are_what_is_tested_here():
    page = PAGE.read_text()
    for recipe in (
        "table.map_partitions(label)",
        'rows.map_batches(FrameLabeller, fn_constructor_args=["run"], batch_format="pandas", concurrency=2)',
        "table.mapInPandas(label.iterate, schema)",
    ):
        assert recipe in page
    assert any("label_frames" in block for block in python_blocks(PAGE))
