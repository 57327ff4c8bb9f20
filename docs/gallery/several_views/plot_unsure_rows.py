"""
Which rows are unsure
=====================

When several views disagree about a row, a label alone hides it. :class:`coterie.MVSIB` learns how uncertain
each row is while it clusters them, so that a person can look at the few rows where looking pays.
"""

# %%
# 600 digits in four views and a short training.

import numpy as np

from coterie import MVSIB
from coterie.data import load_multiview_digits
from coterie.metrics import accuracy

digits = load_multiview_digits()
rows = np.random.default_rng(0).permutation(digits.views.n_rows)[:600]
views, target = digits.views.select(rows), digits.target[rows]

model = MVSIB(n_clusters=10, hidden=(128,), max_epochs=30, random_state=0).fit(views)
print(f"accuracy {accuracy(target, model.labels_):.3f}")
print(dict(zip(views.names, model.view_weights_.round(2).tolist(), strict=True)))

# %%
# ``assign`` gives labels and how sure each is. The surest rows above, the least sure below, with their
# clusters: the first are textbook digits, the others are worth a second look.

import matplotlib.pyplot as plt

labels, confidence = model.assign(views)
order = np.argsort(-confidence)
pixels = views.read(slice(None))[0]
figure, axes = plt.subplots(2, 10, figsize=(10, 2.8))
for line, chosen in zip(axes, (order[:10], order[-10:]), strict=True):
    for axis, row in zip(line, chosen, strict=True):
        axis.imshow(pixels[row].reshape(8, 8), cmap="gray_r")
        axis.set(xticks=[], yticks=[])
        axis.set_title(f"{labels[row]}: {confidence[row]:.2f}", fontsize=8)
axes[0, 0].set_ylabel("surest")
axes[1, 0].set_ylabel("least sure")
figure.tight_layout()

# %%
# Is the doubt worth anything? Sort the rows by confidence and count how many labels are right among the
# surest ones.

from coterie.metrics import matching

classes = matching(target, labels)
right = np.array([classes.get(label, -1) for label in labels.tolist()]) == target
figure, axis = plt.subplots(figsize=(5, 3))
axis.plot(np.arange(1, 601) / 600, np.cumsum(right[order]) / np.arange(1, 601), color="#1b6ca8")
axis.set(xlabel="share of rows, the surest first", ylabel="share labelled right", ylim=(0.7, 1.01))
figure.tight_layout()
