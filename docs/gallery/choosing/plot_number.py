"""
How many clusters
=================

Every clustering method asks for a number that nobody knows. :func:`coterie.choose_k` asks the rows: which
number of clusters comes again when only half of the rows are seen, and keeps neighbours together?
"""

# %%
# First rows where the answer is known: seven groups of different size in ten dimensions.

import numpy as np

from coterie import choose_k

rng = np.random.default_rng(0)
kind = np.repeat(range(7), [150, 120, 100, 80, 60, 50, 40])
planted = 4 * rng.normal(size=(7, 10))[kind] + rng.normal(size=(600, 10))
choice = choose_k(planted, range(2, 15), random_state=0)
print(choice.sentence)

# %%
# Then rows without any groups at all. An honest answer is that they do not tell, and ``clear`` says so.

formless = rng.normal(size=(600, 10))
nothing = choose_k(formless, range(2, 15), random_state=0)
print(nothing.sentence)
print("clear:", choice.clear, "and", nothing.clear)

# %%
# Last the digits, of which 600 are enough here. What rows speak for need not be what people call a class.

from coterie.data import load_digits

digits = load_digits().views.select(rng.permutation(1797)[:600])
found = choose_k(digits, range(2, 15), random_state=0)
print(found)

# %%
# The score is the drop of the linkage times the log of the number. A clear answer is a peak; the formless rows stay
# low everywhere.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(10, 3.2))
for axis, one, title in zip(
    axes, (choice, nothing, found), ("seven groups", "no groups", "digits"), strict=True
):
    tried = [figures.k for figures in one.figures]
    for part, colour in (("stability", "#aaaaaa"), ("drop", "#e08214"), ("score", "#1b6ca8")):
        axis.plot(tried, [getattr(figures, part) for figures in one.figures], color=colour, label=part)
    axis.axvline(one.k, color="#1b6ca8", linestyle=":" if one.clear else "none")
    axis.set(title=title, xlabel="clusters")
axes[0].legend()
figure.tight_layout()

# %%
# Every estimator asks the same question by itself when you write ``n_clusters="auto"``.
