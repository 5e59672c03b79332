"""
========================================
When convex bounds agree with a set loss
========================================

A loss of a set looks at all mistakes in it at once. What
:class:`~skrank.LovaszHingeClassifier` minimises is not the loss itself but a convex function of the
scores: its Lovász hinge, or margin or slack rescaling. For sets of two elements these are surfaces,
and this example draws them, as figures 1 and 2 of Yu and Blaschko, "The Lovász hinge" (2015), do.
They show for which losses each of the three agrees with the loss, and what goes wrong for others.
"""

# %%
# Three losses of two elements
# ----------------------------
#
# No mistake costs nothing, and one mistake costs 1, whichever it is. What both cost together makes
# the difference. With 1.2 the second mistake adds less than the first, so the loss is submodular.
# With 0.4 the second mistake lowers the loss. That is submodular too, but not increasing, and
# :class:`~skrank.losses.SetLoss` has to be told so. With 2.8 the second mistake adds more than the
# first: the loss is supermodular.

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LightSource

from skrank.losses import SetLoss


def by_number(*values):
    """A loss that depends on the number of mistakes only."""
    return lambda mispredicted, y_true: values[mispredicted.sum()]


losses = {
    "submodular, increasing": SetLoss(by_number(0.0, 1.0, 1.2)),
    "submodular, not increasing": SetLoss(by_number(0.0, 1.0, 0.4), increasing=False),
    "supermodular, increasing": SetLoss(by_number(0.0, 1.0, 2.8)),
}
surrogates = {"lovasz": "Lovász hinge", "margin": "margin rescaling", "slack": "slack rescaling"}

# %%
# Surfaces
# --------
#
# Let t be 1 for a positive element and -1 for a negative one, and g its score. All three surrogates
# depend on s = 1 - t g only. Where s is above 1 the element is mispredicted; where it is 0 or less
# the element is right with a margin of 1. Here all elements are positive, so the score is 1 - s.
# ``bind`` gives a function of the scores that returns the value and a subgradient.


def evaluate(loss, surrogate, points):
    """The surrogate at each of these points s."""
    objective = loss.bind(np.ones((1, points.shape[1]), dtype=bool), surrogate=surrogate)
    return np.array([objective(1 - s)[0] for s in points])


# %%
# The Lovász hinge of the supermodular loss would not be convex. Asking for it is an error, which
# shows where the loss fails. Elements are counted from 0.

corners = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
try:
    evaluate(losses["supermodular, increasing"], "lovasz", corners)
except ValueError as error:
    print(error)

# %%
# This leaves eight surfaces, each of a few linear pieces. At the corners of the unit square, which
# is drawn on the surfaces, a surrogate can be compared with the loss: the corner (1, 0), for
# example, stands for a mistake at the first element only. The dots are the losses. A dot is black
# if the surface goes through it; if not, it is red, and a red line leads up to the surface.

axis = np.linspace(-1, 2, 31)  # a step is 0.1, so 0 and 1 are the places 10 and 20
grid = np.meshgrid(axis, axis, indexing="ij")
points = np.stack(grid, axis=-1).reshape(-1, 2)
along, zero = np.arange(10, 21), np.full(11, 10)
edges = [(along, zero), (along, zero + 10), (zero, along), (zero + 10, along)]


def draw(axes, heights, dots, top):
    """A surface over the grid, the unit square on it, and dots at the corners."""
    axes.computed_zorder = False  # draw what follows over the surface
    style = {"color": "skyblue", "lightsource": LightSource(5, 35), "edgecolor": "none"}
    axes.plot_surface(*grid, heights, rcount=31, ccount=31, **style)
    for i, j in edges:
        axes.plot(axis[i], axis[j], heights[i, j], color="black", linewidth=1, zorder=3)
    for (i, j), dot in zip(corners, dots, strict=True):
        height = heights[10 + 10 * i, 10 + 10 * j]
        colour = "black" if np.isclose(height, dot) else "red"
        axes.plot([i, i], [j, j], [dot, height], color=colour, linewidth=2, zorder=4)
        axes.scatter(i, j, dot, color=colour, s=30, depthshade=False, zorder=5)
    axes.set(xlabel="s1", ylabel="s2", xticks=[-1, 0, 1, 2], yticks=[-1, 0, 1, 2], zlim=(0, top))
    axes.tick_params(labelsize=8, pad=-1)
    axes.view_init(elev=25, azim=-115)


figure = plt.figure(figsize=(10, 10.5), layout="constrained")
for row, (kind, loss) in enumerate(losses.items()):
    top = 7 if kind.startswith("super") else 3.6
    dots = loss.losses(corners == 1, np.ones((4, 2), dtype=bool))
    for column, (surrogate, name) in enumerate(surrogates.items()):
        axes = figure.add_subplot(3, 3, 3 * row + column + 1, projection="3d")
        axes.set_title(f"{name}\n{kind}", fontsize=10)
        if (row, column) == (2, 0):
            axes.set_axis_off()
            axes.text2D(0.5, 0.5, "an error", transform=axes.transAxes, ha="center")
        else:
            draw(axes, evaluate(loss, surrogate, points).reshape(31, 31), dots, top)
plt.show()

# %%
# All of them are convex. The Lovász hinge goes through all dots, also where the loss is not
# increasing. There both rescalings are above the 0.4 of two mistakes, since each of the two alone
# costs 1. For the supermodular loss slack rescaling goes through all dots, and margin rescaling is
# above three of them, even above the one of no mistake.
#
# Where all three go through the dots, the Lovász hinge is the highest inside the square: no convex
# function through the dots is above it. Outside it can be the lowest. In the middle of the square,
# and at (2, 2):

for surrogate, name in surrogates.items():
    values = evaluate(losses["submodular, increasing"], surrogate, np.array([[0.5, 0.5], [2, 2]]))
    print(f"{name:<16}", *(f"{value:6.2f}" for value in values))

# %%
# Which of them are extensions
# ----------------------------
#
# A surrogate that is equal to the loss l at all corners is called an extension of it. Whether it is
# one depends on the loss, which must be 0 without mistakes and never negative:
#
# - the Lovász hinge is an extension of every submodular l, and is not offered for others;
# - slack rescaling is an extension if l is increasing, and only then;
# - margin rescaling is an extension if l(A) - l(B) is at most the number of elements of A that are
#   not in B, for all sets of mistakes A and B, and only then.
#
# The last condition says, among other things, that l is increasing. Any increasing loss fulfils it
# after division by a number that is large enough. In the code, sets of mistakes are numbers with a
# binary digit for each element: 0 for no mistake, 1 and 2 for one, 3 for both.

conditions = {
    "lovasz": lambda v, a, b: v[a] + v[b] >= v[a | b] + v[a & b],
    "margin": lambda v, a, b: v[a] - v[b] <= (a & ~b).bit_count(),
    "slack": lambda v, a, b: v[a & b] <= v[b],
}


def compare(loss, surrogate, corners):
    """The surrogate at all corners or None, whether it is the loss, and what the condition says."""
    values = loss.losses(corners == 1, np.ones(corners.shape, dtype=bool)).tolist()
    pairs = product(range(len(values)), repeat=2)
    condition = all(conditions[surrogate](values, a, b) for a, b in pairs)
    try:
        heights = evaluate(loss, surrogate, corners)
    except ValueError:
        return None, False, condition
    return heights, np.allclose(heights, values), condition


answers = {True: "yes", False: "no"}
halved = {"supermodular, increasing, halved": SetLoss(by_number(0.0, 0.5, 1.4))}
print(" " * 19, "none  first second   both   extension  condition")
for kind, loss in (losses | halved).items():
    print(kind)
    for surrogate, name in surrogates.items():
        heights, equal, condition = compare(loss, surrogate, corners)
        cells = " " * 19 + "an error" if heights is None else "".join(f"{h:7.1f}" for h in heights)
        print(f"  {name:<16}{cells:<28} {answers[equal]:>9} {answers[condition]:>10}")

# %%
# The conditions are not about two elements only. Here they are compared with the surrogates at the
# corners of the cube, for 200 random losses of three elements:

rng = np.random.default_rng(0)
corners_of_three = np.array([[a & 1, a >> 1 & 1, a >> 2 & 1] for a in range(8)])
results = {surrogate: [] for surrogate in surrogates}
for _ in range(200):
    values = np.append(0.0, rng.integers(0, 4, size=7) / 2)
    by_set = SetLoss(lambda wrong, y_true, v=values: v[wrong @ [1, 2, 4]], increasing=False)
    for surrogate, result in results.items():
        result.append(compare(by_set, surrogate, corners_of_three)[1:])
for surrogate, result in results.items():
    equal, condition = np.transpose(result)
    right = np.sum(equal == condition)
    print(f"{surrogates[surrogate]:<16} {equal.sum():3d} extensions, condition right for {right}")

# %%
# Why ``increasing`` has to be declared
# -------------------------------------
#
# The Lovász hinge takes the elements from the largest s down, and charges for each s times what its
# mistake adds to the loss. If the loss is increasing, each s below 0 counts as 0: being right by
# more than the margin earns nothing (Definition 5 of the paper). If it is not, only the sum is
# replaced by 0 where it is negative (Definition 6). Here is the second loss with the one and with
# the other. The library does not do the former, so it is computed by hand.

high, low = np.maximum(*grid), np.minimum(*grid)
each_at_zero = 1.0 * np.maximum(high, 0) + (0.4 - 1.0) * np.maximum(low, 0)

falling = losses["submodular, not increasing"]
sum_at_zero = evaluate(falling, "lovasz", points).reshape(31, 31)

figure = plt.figure(figsize=(11, 4), layout="constrained")
cut = figure.add_subplot(1, 3, 3)
panels = {"Definition 5": (each_at_zero, "C3"), "Definition 6": (sum_at_zero, "navy")}
for column, (title, (heights, colour)) in enumerate(panels.items()):
    axes = figure.add_subplot(1, 3, column + 1, projection="3d")
    axes.set_title(title)
    draw(axes, heights, [0.0, 1.0, 1.0, 0.4], 3)
    axes.plot(np.ones(31), axis, heights[20], color=colour, linewidth=2, zorder=3)
    cut.plot(axis, heights[20], color=colour, linewidth=2, label=title)
    at = np.array([0, 10, 20])  # the places of -1, 0 and 1
    print(f"{title}: at s2 = -1, 0 and 1", *(f"{value:5.2f}" for value in heights[20, at]))
cut.scatter([0, 1], [1.0, 0.4], color="black", zorder=3, label="losses")
cut.set(title="both where s1 = 1", xlabel="s2", xticks=[-1, 0, 1, 2], ylim=(0, 2))
cut.legend()
plt.show()

# %%
# Both go through all dots. But Definition 5 has a ridge where s2 is 0: it is above the mean of its
# values at -1 and 1. So it is not convex, and training could end in a minimum that is only local.
#
# Definition 6 has its price. With s1 = 1 it rises as s2 falls below 0: next to a mistake, a second
# one would lower the loss, so an element that is right by a wide margin is charged for. And it is
# not everywhere an upper bound of the loss. At s = (1.1, 0.9) only the first element is
# mispredicted, which costs 1:

value = evaluate(falling, "lovasz", np.array([[1.1, 0.9]])).item()
print(f"Lovász hinge at (1.1, 0.9): {value:.2f}")

# %%
# For increasing submodular losses none of this comes up: the Lovász hinge is convex, an extension
# and an upper bound of the loss.
