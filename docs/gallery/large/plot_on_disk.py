"""
Data larger than memory
=======================

A path is as good as an array. Rows are then read from the file in long runs while the model trains, and what
is kept for each row is a few dozen bytes, however wide it is.
"""

# %%
# A file of 20,000 rows stands for one that would not fit. It is written piece by piece, as a large file would
# be.

import tempfile
from pathlib import Path

import numpy as np

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
centres = 3 * rng.normal(size=(6, 40))
kind = rng.integers(6, size=20_000)
file = np.lib.format.open_memmap(folder / "rows.npy", mode="w+", dtype=np.float32, shape=(20_000, 40))
for start in range(0, 20_000, 5_000):
    chunk = slice(start, start + 5_000)
    file[chunk] = centres[kind[chunk]] + rng.normal(size=(5_000, 40))
file.flush()
del file

# %%
# ``read_views`` opens it without reading it. Any estimator takes the result, or the path itself.

from coterie import LargeMvCNet, read_views

views = read_views(folder / "rows.npy")
print(views, f"- in memory: {views.in_memory}, {views.nbytes / 1e6:.1f} MB on disk")

# %%
# LargeMvCNet's cost is linear in the rows, and what it adds up over them has the size of its anchors. PCX,
# which is recommended for one view, reads files in the same way and takes longer.

from coterie.metrics import accuracy

model = LargeMvCNet(n_clusters=6, random_state=0).fit(views)
print(f"accuracy {accuracy(kind, model.labels_):.3f}")

# %%
# Rows can be looked at without loading the file: ``chunks`` gives slices of a size that fits, ``read`` the
# rows of one of them. The means of the clusters, from one pass:

sums, counts = np.zeros((6, 40)), np.zeros(6)
for chunk in views.chunks(4_000):
    rows, labels = views.read(chunk)[0], model.labels_[chunk]
    np.add.at(sums, labels, rows)
    counts += np.bincount(labels, minlength=6)

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(8, 2.6))
picture = axis.imshow(sums / counts[:, None], cmap="RdBu_r", aspect="auto", vmin=-8, vmax=8)
axis.set(xlabel="column", ylabel="cluster", title=f"means of {views.n_rows:,} rows on disk")
figure.colorbar(picture)
figure.tight_layout()
