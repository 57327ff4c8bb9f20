"""
A few labels steer everything
=============================

Often somebody knows the class of a handful of rows. :class:`coterie.FUCSMF` spreads what is known over all
rows by one convex solve: labels, and pairs that belong together or apart.
"""

# %%
# From one to ten labelled digits of each class, drawn at random; -1 means that nobody said anything.

import numpy as np

from coterie import FUCSMF
from coterie.data import load_digits

digits = load_digits()
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.target))


def knowing(per_class):
    """Return labels of so many rows of each class."""
    y = np.full(len(digits.target), -1)
    for digit in range(10):
        y[order[digits.target[order] == digit][:per_class]] = digit
    return y


# %%
# A fit takes a fraction of a second. The score counts only rows without a label, beside a classifier that
# sees nothing but the labelled rows: the difference is what the shape of the other rows adds.

from sklearn.neighbors import KNeighborsClassifier

pixels = digits.views.read(slice(None))[0]
counts, ours, theirs = (1, 2, 3, 5, 10), [], []
for per_class in counts:
    y = knowing(per_class)
    hidden = y < 0
    model = FUCSMF(random_state=0).fit(digits.views, y)
    alone = KNeighborsClassifier(1).fit(pixels[~hidden], y[~hidden]).predict(pixels[hidden])
    ours.append((model.labels_ == digits.target)[hidden].mean())
    theirs.append((alone == digits.target[hidden]).mean())
print([round(float(share), 3) for share in ours])

# %%
# One draw of labels, so small differences say little; the gap on the left does not.

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(5.5, 3.4))
axis.plot(counts, ours, "o-", color="#1b6ca8", label="FUCSMF")
axis.plot(counts, theirs, "o-", color="#e08214", label="nearest labelled row")
axis.set(xlabel="labels a class", ylabel="share of the other rows right", ylim=(0, 1), xticks=counts)
axis.legend()
figure.tight_layout()

# %%
# Links say less than labels, and are easier to ask for: are these two of one kind? One label a class again,
# and fifty pairs of one kind, drawn at random.

y = knowing(1)
pairs = [
    rng.choice(np.flatnonzero(digits.target == digit), 2, replace=False)
    for digit in rng.integers(10, size=50)
]
first = FUCSMF(random_state=0).fit(digits.views, y)
linked = FUCSMF(random_state=0).fit(digits.views, y, must_link=pairs)

# %%
# Not every word helps. Labels on ten rows that came out wrong are labels on odd rows, and what is near them
# follows:

odd = np.flatnonzero(first.labels_ != digits.target)[:10]
y[odd] = digits.target[odd]
told = FUCSMF(random_state=0).fit(digits.views, y)
for name, model in (("one label a class", first), ("and fifty links", linked), ("and ten odd rows", told)):
    print(f"{name}: {(model.labels_ != digits.target).sum()} of {len(y)} rows wrong")

# %%
# So label typical rows first, and let :func:`coterie.refine` say which rows to look at.
