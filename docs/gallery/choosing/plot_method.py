"""
Let the data choose the method
==============================

Six estimators are five too many for a first try. :func:`coterie.recommend` looks at the rows, the views, what
is missing and what is known, and names one of them with its reasons. It fits nothing and takes a moment.
"""

# %%
# One table:

import numpy as np

from coterie import recommend
from coterie.data import load_digits, load_multiview_digits

digits, several = load_digits(), load_multiview_digits()
print(recommend(digits.views, n_clusters=10))

# %%
# Several views of the same rows:

print(recommend(several.views, n_clusters=10))

# %%
# One table of which twenty rows have a label; -1 stands for no label:

y = np.full(len(digits.target), -1)
y[:20] = digits.target[:20]
found = recommend(digits.views, y)
print(found)

# %%
# ``make`` gives the estimator, ``python`` the line to keep in a program, ``command`` the one for a terminal.

print(found.python)
print(found.command("digits.npz", labels="known.csv"))
model = found.make(random_state=0).fit(digits.views, y)

# %%
# The facts that the choice goes by are kept too. Here twenty labels steered all 1,797 rows; the map is the
# first two principal axes of the pixels.

import matplotlib.pyplot as plt

pixels = digits.views.read(slice(None))[0]
centred = pixels - pixels.mean(axis=0)
flat = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True)
for axis, colours, title in zip(axes, (y, model.labels_), ("what was known", "what follows"), strict=True):
    told = colours >= 0
    axis.scatter(*flat[~told].T, c="#cccccc", s=4)
    axis.scatter(*flat[told].T, c=colours[told], cmap="tab10", s=30 if told.sum() < 50 else 4, vmin=0, vmax=9)
    axis.set(title=title, xticks=[], yticks=[])
figure.tight_layout()
