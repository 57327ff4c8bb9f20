"""
Views that are missing, and what they would have been
=====================================================

Things are often described by several tables of which no row has all: a patient without the second scan, a
product without a picture. :class:`coterie.LargeMvCNet` clusters every row by what it has, and says what a
missing view should look like.
"""

# %%
# Handwritten digits as four views: the pixels, the directions of their edges, their Fourier transform, their
# outline. We take views away from half of the rows. Each keeps at least one.

from coterie import LargeMvCNet, amputate, as_views
from coterie.data import load_multiview_digits

digits = load_multiview_digits()
whole = digits.views
there = amputate(whole.n_rows, whole.n_views, rate=0.5, random_state=0)
some = as_views(whole, mask=there)
print(some, f"- {1 - there.mean():.0%} of all entries are gone")

# %%
# Nothing needs to be filled in or dropped. In your own data a view is missing where its row is all NaN.

from coterie.metrics import accuracy

model = LargeMvCNet(n_clusters=10, random_state=0).fit(some)
print(f"{len(model.labels_)} rows have a label; accuracy {accuracy(digits.target, model.labels_):.3f}")

# %%
# ``inverse_transform`` goes from codes back to the views. For rows whose pixels were taken away we can look
# at what the model makes of the other three views, beside the truth.

import matplotlib.pyplot as plt
import numpy as np

guessed = model.inverse_transform(model.transform(some))[0]
blind = np.flatnonzero(~there[:, 0] & there[:, 1:].any(axis=1))[:10]
figure, axes = plt.subplots(2, 10, figsize=(10, 2.4))
for column, row in enumerate(blind):
    for axis, image in zip(axes[:, column], (guessed[row], whole.read([row])[0][0]), strict=True):
        axis.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        axis.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("guessed")
axes[1, 0].set_ylabel("true")
figure.tight_layout()

# %%
# The guess is a typical row of that kind, not the row itself: the code keeps what the views share. How well
# each view is explained by the common code, and how many views a row needs for a good label:

from coterie.metrics import matching

print(dict(zip(whole.names, model.view_weights_.round(2).tolist(), strict=True)))
classes = matching(digits.target, model.labels_)
right = np.array([classes.get(label, -1) for label in model.labels_.tolist()]) == digits.target
count = there.sum(axis=1)
figure, axis = plt.subplots(figsize=(5, 3))
axis.bar(range(1, 5), [right[count == n].mean() for n in range(1, 5)], color="#1b6ca8")
axis.set(xlabel="views that a row has", ylabel="share labelled right", xticks=range(1, 5), ylim=(0, 1))
figure.tight_layout()
