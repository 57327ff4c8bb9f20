"""
What a row is made of
=====================

:class:`coterie.SSCNet` learns a few dozen atoms and writes every row as a sum of some of them. Clusters are
then groups of rows that use the same atoms, and the atoms say what a group has in common.
"""

# %%
# Handwritten digits, 128 atoms, a short training, and a higher price on codes with many entries than by
# default.

import numpy as np

from coterie import SSCNet, SSCNetOptions
from coterie.data import load_digits

digits = load_digits()
options = SSCNetOptions(sparsity=0.3)
model = SSCNet(n_clusters=10, n_atoms=128, max_epochs=40, options=options, random_state=0).fit(digits.views)
print(f"{model.sparsity_.mean():.0%} of the entries of a code are zero")
print(f"the atoms leave {model.reconstruction_.mean():.0%} of the length of a row unexplained")

# %%
# ``atom_use_`` holds how much each cluster uses each atom. The first column below is the row that stands for
# the cluster; the others are the atoms that the cluster uses most beyond what all clusters use. Red adds ink,
# blue takes it away.

import matplotlib.pyplot as plt

beyond = model.atom_use_ - model.atom_use_.mean(axis=0)
favourites = np.argsort(-beyond, axis=1)[:, :6]
stands = digits.views.read(model.exemplar_indices_)[0]

figure, axes = plt.subplots(10, 7, figsize=(5.2, 7.5))
for k in range(10):
    axes[k, 0].imshow(stands[k].reshape(8, 8), cmap="gray_r")
    for axis, atom in zip(axes[k, 1:], model.atoms_[favourites[k]], strict=True):
        most = np.abs(atom).max() or 1.0
        axis.imshow(atom.reshape(8, 8), cmap="RdBu_r", vmin=-most, vmax=most)
    axes[k, 0].set_ylabel(k)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
axes[0, 0].set_title("row", fontsize=8)
axes[0, 3].set_title("its cluster's atoms", fontsize=8)
figure.tight_layout()

# %%
# A new row is coded by one forward pass, without any other row. The code is a table that other tools can use.

codes = model.encode(digits.views.select(slice(0, 5)))
print(codes.shape, (codes != 0).sum(axis=1), "atoms in each of the five rows")
