"""
===============
Early detection
===============

A disease is easier to treat the earlier it is found, and looks different early and late. On data
made up in this way, this example trains linear classifiers for a loss in which early mistakes
are the dearest, and for the number of mistakes. It is the synthetic experiment of Yu and Blaschko,
"The Lovász hinge" (2015), with its figure 3 and table 1, on data that are like theirs but not the
same.
"""

# %%
# Sequences of fifteen
# --------------------
#
# :func:`~skrank.datasets.make_early_detection` draws sequences, called bags in the paper. Each
# element is positive or negative with equal probability. Among the first five the positive elements
# lie around (2, 0), later around (-1, 2); the negative ones lie around (0, 0) all along. A linear
# classifier that all elements share cannot find both kinds of positive elements well.
#
# Of ten draws, each has 1,000 bags to train on and 5,000 to test on.

from collections import Counter
from warnings import catch_warnings, simplefilter

import matplotlib.pyplot as plt
import numpy as np

from skrank import LovaszHingeClassifier
from skrank.datasets import make_early_detection
from skrank.losses import EarlyDetection
from skrank.metrics import set_loss

draws = []
for seed in range(10):
    X, y = make_early_detection(6000, random_state=seed)
    draws.append((X[:1000], y[:1000], X[1000:], y[1000:]))
print("features", X.shape, "labels", y.shape)

# %%
# Four models
# -----------
#
# Among the first i elements let there be k mistakes. The loss, number (50) in the paper, is the sum
# over i of exp(-i) min(k, i / 2). So the first element counts most, and once half of the elements
# so far are mispredicted, more mistakes among them cost nothing. The loss is submodular and
# increasing. The models are those of the paper's table: "L" minimises the Lovász hinge of this
# loss, "S" its slack and "M" its margin rescaling. "0-1" is trained for the number of mistakes; its
# Lovász hinge is the mean of the hinge losses of the elements, so it is an ordinary support vector
# machine.
#
# All have the same C. It is so large that regularisation hardly matters. Rescaling tries all 32,768
# sets of mistakes in each bag. That is affordable, but takes longer than all else here.

settings = {
    "L": {"loss": EarlyDetection()},
    "0-1": {"loss": "hamming"},
    "S": {"loss": EarlyDetection(), "surrogate": "slack"},
    "M": {"loss": EarlyDetection(), "surrogate": "margin"},
}
models = {name: [] for name in settings}
warned = Counter()
for name, setting in settings.items():
    for X, y, _, _ in draws:
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            models[name].append(LovaszHingeClassifier(C=1000, **setting).fit(X, y))
        warned.update((name, str(warning.message)) for warning in caught)
for (name, message), count in warned.items():
    print(f"{name}, {count} of {len(models[name])} fits: {message}")

# %%
# The warnings are looked into at the end.
#
# Loss by model
# -------------
#
# The library divides the loss by that of a bag in which all elements are mispredicted. The numbers
# are multiplied by it here, which makes them those of formula (50).

place = np.arange(1, 16)
all_wrong = np.sum(np.exp(-place) * place / 2)


def measure(model, X, y):
    """The loss (50), and the number of mistakes in a bag."""
    predicted = model.predict(X)
    loss = all_wrong * set_loss(y, predicted, loss="early_detection")
    return loss, np.mean(np.sum(predicted != y, axis=1))


def mean_and_error(values, digits):
    """The mean over the draws and its standard error, as text."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


results = {
    name: np.array([measure(model, *draw[2:]) for model, draw in zip(fitted, draws, strict=True)])
    for name, fitted in models.items()
}
paper = {"L": "0.100  7.42", "0-1": "0.166  2.87", "S": "0.144  7.69", "M": "0.154  3.01"}
print("trained for          loss (50)        mistakes   the paper's")
for name, values in results.items():
    loss, mistakes = mean_and_error(values[:, 0], 4), mean_and_error(values[:, 1], 3)
    print(f"{name:<12} {loss:>17} {mistakes:>15}   {paper[name]}")

# %%
# As in the paper, each of L and 0-1 is better by the measure that it is trained for. On the same
# draw, the loss of 0-1 is higher than that of L by

print(mean_and_error(results["0-1"][:, 0] - results["L"][:, 0], 4))

# %%
# The price is in the other column: L makes many more mistakes, and only somewhat fewer than the 7.5
# on average of a model that predicts nothing to be positive.
#
# The choice of C is not behind this. For the first draw:

print("loss (50) and mistakes by C        L           0-1")
for C in 10.0 ** np.arange(6):
    cells = []
    for name in ("L", "0-1"):
        X, y, X_test, y_test = draws[0]
        model = LovaszHingeClassifier(C=C, **settings[name]).fit(X, y)
        cells.append("{:.3f} {:.2f}".format(*measure(model, X_test, y_test)))
    print(f"{C:26,.0f}  ", "   ".join(cells))

# %%
# What they detect
# ----------------
#
# On the left are the elements of forty bags, with the lines above which (0-1) and to the right of
# which (L) the models of the first draw predict positive. On the right is the share of mispredicted
# elements by their place in the bag, over the test bags of all draws.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.5), layout="constrained")
X, y = (part[:40] for part in draws[0][:2])
early = np.broadcast_to(place <= 5, y.shape)
kinds = {
    "negative": (y == 0, "0.75", "o"),
    "positive, late": (~early & (y == 1), "C4", "^"),
    "positive, early": (early & (y == 1), "C3", "s"),
}
for kind, (chosen, colour, marker) in kinds.items():
    left.scatter(*X[chosen].T, s=14, color=colour, marker=marker, label=kind)
for name, colour in {"L": "C0", "0-1": "black"}.items():
    (a, b), c = models[name][0].coef_[0], models[name][0].intercept_[0]
    foot = -c * np.array([a, b]) / (a**2 + b**2)  # the point of the line next to the origin
    left.axline(foot, (foot[0] - b, foot[1] + a), color=colour, linewidth=2, label=name)
    wrong = [m.predict(X) != y for m, (_, _, X, y) in zip(models[name], draws, strict=True)]
    share = np.mean(wrong, axis=(0, 1))
    right.plot(place, share, color=colour, marker="o", label=name)
    print(f"{name:<5} first five {share[:5].mean():.3f}, others {share[5:].mean():.3f}")
left.set(xlabel="first feature", ylabel="second feature", xlim=(-4.5, 5), ylim=(-3.5, 5))
left.legend(loc="upper right", fontsize=9)
right.axhline(0.5, color="grey", linestyle=":", label="all negative")
right.set(xlabel="place in the bag", ylabel="share mispredicted", ylim=(0, 0.7), xticks=place)
right.legend(loc="lower right")
plt.show()

# %%
# L looks at the first feature only, and so for the early positive elements. Of the late ones it
# finds few. From the sixth place on it is worse than a model that predicts nothing to be positive,
# but the loss gives these places hardly any weight. 0-1 looks for the late positive elements, as
# there are twice as many of them.
#
# What becomes of rescaling
# -------------------------
#
# S and M have zero weights, and the fits have warned of it. The search for mistakes is not to
# blame, as it was complete. Zero weights are where the bounds have their minimum, as the gaps of
# the fits prove. These are the three bounds, in the units of the library, at multiples of L's
# weights on the training bags of the first draw:

X, y = draws[0][:2]
scores = models["L"][0].decision_function(X)
bounds = {"L": "lovasz", "S": "slack", "M": "margin"}
print("multiple  ", *(f"{multiple:8.2f}" for multiple in (0, 0.01, 0.1, 1)))
for name, surrogate in bounds.items():
    objective = EarlyDetection().bind(y == 1, surrogate=surrogate)
    values = [objective(multiple * scores)[0] for multiple in (0, 0.01, 0.1, 1)]
    print(f"bound of {name}", *(f"{value:8.3f}" for value in values))
for name in ("S", "M"):
    model = models[name][0]
    print(f"{name}: minimum {model.objective_ / model.C:.3f}, proven gap {model.dual_gap_:.1e}")

# %%
# Many sets of mistakes cost as much as if all were mispredicted: it is enough that at each place
# half of the elements so far are. Rescaling looks for the set that is worst for the model. Let t be
# 1 for positive and -1 for negative elements, and g their scores. One candidate is such a half of
# the elements with the lowest sum of t g. The bound is below the 1 of zero weights only if even
# this sum is positive, on average over the bags. But the worst half of a bag has nearly all
# mistakes of a model in it, four even for 0-1, and no line is so good that the other elements of
# this half make up for them. The Lovász hinge weights each element by what its mistake adds to the
# loss instead, and the ten late ones together have a weight of 1.3% at most.
#
# So S and M predict all elements to be negative here, for any C and in any unit of the loss. Those
# of the paper did better on its data, though worse than L. It trained them by an approximate search
# for mistakes, and puts their results down to that. On these data it is the bounds themselves. In a
# trial with bags of 17 elements, for which the library searches greedily as well and warns of it,
# they came out the same.
