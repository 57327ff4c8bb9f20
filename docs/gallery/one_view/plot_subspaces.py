"""
Subspaces, where k-means fails
==============================

Some groups are not clouds around a centre. Photographs of one face under many lights, or the tracks of points
on one moving thing, lie on a plane through the origin: rows of a group may be far apart, and rows of two
groups close. This is what subspace clustering is for.
"""

# %%
# Three planes in twelve dimensions, sixty rows on each, with a little noise. Every plane goes through the
# origin, so the centres of all three groups are the same point.

import numpy as np

rng = np.random.default_rng(0)
kind = np.repeat([0, 1, 2], 60)
planes = [np.linalg.qr(rng.normal(size=(12, 2)))[0] for _ in range(3)]
rows = np.concatenate([rng.normal(size=(60, 2)) @ plane.T for plane in planes])
rows += 0.05 * rng.normal(size=rows.shape)

# %%
# :class:`coterie.SSC` writes each row as a combination of few other rows. Rows of one plane choose each
# other, because two of them are enough. k-means looks for centres, which are not there.

from sklearn.cluster import KMeans

from coterie import SSC
from coterie.metrics import accuracy

model = SSC(n_clusters=3, max_iter=5000, random_state=0).fit(rows)
by_means = KMeans(3, n_init=10, random_state=0).fit_predict(rows)
scores = {"SSC": accuracy(kind, model.labels_), "k-means": accuracy(kind, by_means)}
print({name: round(float(score), 3) for name, score in scores.items()})

# %%
# The graph that SSC cuts, rows sorted by plane: nearly all of its weight is within the three blocks. Beside
# it the rows, by their three principal axes, in the colours of each answer.

import matplotlib.pyplot as plt

shown = rows @ np.linalg.svd(rows, full_matrices=False)[2][:3].T
figure = plt.figure(figsize=(10, 3.4))
graph = figure.add_subplot(1, 3, 1)
graph.imshow(np.sqrt(model.affinity_.toarray()), cmap="magma")
graph.set(title="who writes whom", xlabel="row", ylabel="row")
for place, (name, labels) in enumerate({"SSC": model.labels_, "k-means": by_means}.items(), start=2):
    axis = figure.add_subplot(1, 3, place, projection="3d")
    axis.scatter(*shown.T, c=labels, cmap="viridis", s=12)
    axis.set_title(f"{name}: accuracy {scores[name]:.2f}")
    axis.set(xticklabels=[], yticklabels=[], zticklabels=[])
figure.tight_layout()

# %%
# SSC is exact and takes a few thousand rows. For more, :class:`coterie.SSCNet` learns to do the same in one
# forward pass.
