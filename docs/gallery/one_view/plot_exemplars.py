"""
Clusters with exemplars
=======================

A list of cluster numbers says little. :class:`coterie.PCX` gives every cluster an exemplar: its centre,
decoded into a row that can be looked at. Here the rows are handwritten digits, and nobody tells the model
which is which.
"""

# %%
# The digits come with the library: 1,797 images of 8 x 8 pixels. ``target`` is only used at the end.

from sklearn.metrics.cluster import contingency_matrix

from coterie import PCX
from coterie.data import load_digits
from coterie.metrics import accuracy

digits = load_digits()
print(digits.views)

# %%
# Two small layers and 60 epochs are enough for a look. Leave both out for the defaults, which take about ten
# times as long and are what the benchmarks measure.

model = PCX(n_clusters=10, hidden=(256, 64), max_epochs=60, random_state=0).fit(digits.views)
print(model.cluster_sizes_)

# %%
# Above, what the decoder makes of each centre; below, the real image nearest to it. Where the two differ
# much, the exemplar is an average of things that do not belong together.

import matplotlib.pyplot as plt

real = digits.views.read(model.exemplar_indices_)[0]
figure, axes = plt.subplots(2, 10, figsize=(10, 2.6))
for k in range(10):
    for axis, row in zip(axes[:, k], (model.exemplars_[k], real[k]), strict=True):
        axis.imshow(row.reshape(digits.image_shape), cmap="gray_r")
        axis.set_axis_off()
    axes[0, k].set_title(f"cluster {k}\n{model.cluster_sizes_[k]} rows", fontsize=8)
figure.tight_layout()

# %%
# Since the classes of these rows are known, clusters can be held against them. Most clusters are one digit;
# what is off the bright cells is where the model and the people who wrote the digits disagree.

print(f"accuracy {accuracy(digits.target, model.labels_):.3f}")
counts = contingency_matrix(digits.target, model.labels_)
figure, axis = plt.subplots(figsize=(4.5, 4))
axis.imshow(counts, cmap="viridis")
axis.set(xlabel="cluster", ylabel="digit", xticks=range(counts.shape[1]), yticks=range(10))
figure.tight_layout()

# %%
# The report shows all of this, and more, on one HTML page: ``coterie.write_report(model, digits.views,
# "report.html", image_shape=(8, 8))``.
