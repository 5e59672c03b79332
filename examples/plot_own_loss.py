"""
==========================
Your own loss in ten lines
==========================

:class:`~skrank.RankSVC` is trained for any loss that is a sum over the relevant rows, where each
costs what depends on how many irrelevant rows stand above it. Such a loss is a small function. This
example writes two, one for readers of the first places and one for those who have to find all
relevant rows, and shows what each model is good at.
"""

# %%
# Two losses
# ----------
#
# The first places: a page shows five rows, and a relevant row is missed where the page has an
# irrelevant one in its place. ``cost(i, j)`` is what the i-th relevant row from the top
# costs with j irrelevant rows above it; it then stands at place i + j. The sum over the first five
# relevant rows is the share of the page that is wasted.

import matplotlib.pyplot as plt
import numpy as np

from skrank import RankSVC
from skrank.losses import Groups, PositionLoss, QSLoss, ROCArea


def wasted(i, j):
    """A fifth for each of the first five relevant rows that is not on the page."""
    return 0.2 if i <= 5 and i + j > 5 else 0.0


page = PositionLoss(wasted)

# %%
# The last relevant row: whoever needs them all reads down to it, past the irrelevant rows above.
# ``increment(j, i, n_pos, n_neg)`` is how much the loss grows when the j-th irrelevant row moves
# above the i-th relevant one. Here only the last relevant row counts, and each irrelevant row above
# it adds one part in ``n_neg``. The loss is the share of irrelevant rows that have to be read.


def read_in_vain(j, i, n_pos, n_neg):
    """One part of all irrelevant rows, for the last relevant row only."""
    return 1.0 / n_neg if i == n_pos else 0.0


last = QSLoss(read_in_vain)

# %%
# Both losses are between 0 and 1, and so is the score of a model, which is one minus the loss. The
# functions are plain Python, and are compiled when they are first used.
#
# A task on which losses differ
# -----------------------------
#
# Each query has 10 relevant and 30 irrelevant rows with two features. The first feature shows seven
# in ten relevant rows clearly and puts the others below most irrelevant rows. The second feature is
# somewhat higher for all relevant rows.


def make_queries(n_queries, rng):
    """Features, relevance and query of each row."""
    X = rng.normal(size=(n_queries, 40, 2))
    clear = rng.random(size=(n_queries, 10)) < 0.7
    X[:, :10, 0] = np.where(clear, 3.0, -2.0) + 0.5 * X[:, :10, 0]
    X[:, :10, 1] = 1.5 + 0.3 * X[:, :10, 1]
    y = np.tile(np.arange(40) < 10, n_queries)
    return X.reshape(-1, 2), y, np.repeat(np.arange(n_queries), 40)


rng = np.random.default_rng(0)
X, y, qid = make_queries(100, rng)
X_test, y_test, qid_test = make_queries(400, rng)

losses = {"first places": page, "ROC area": ROCArea(), "last relevant row": last}
models = {name: RankSVC(loss=loss).fit(X, y, qid=qid) for name, loss in losses.items()}

# %%
# What each model is good at
# --------------------------
#
# Any scores can be measured by any of the losses: ``loss_of_each_list`` gives the loss of each
# query. Each row of the table is a model, each column a measure, and the values are means over the
# test queries.

lists = Groups.from_qid(qid_test, len(y_test))


def measure(loss, values):
    """One minus the mean loss of the test queries ranked by these values."""
    return 1 - loss.loss_of_each_list(y_test, values, lists).mean()


print(f"{'trained for':<20}", *(f"{name:>18}" for name in losses))
for name, model in models.items():
    values = model.predict(X_test)
    print(f"{name:<20}", *(f"{measure(loss, values):18.3f}" for loss in losses.values()))

# %%
# Each model is the best of the three in its own column. With two features a model is a direction in
# the plane, and all directions can be tried. On the left are the rows of ten queries and the
# directions of the models, in which their scores rise. On the right are the three measures by
# direction.

angles = np.linspace(-10, 100, 111)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
some = qid < 10
left.scatter(*X[some & ~y].T, s=10, color="0.7", label="irrelevant rows")
left.scatter(*X[some & y].T, s=12, color="black", label="relevant rows")
for k, (name, loss) in enumerate(losses.items()):
    weights = models[name].coef_
    arrow = 3.4 * weights / np.linalg.norm(weights)
    style = {"arrowstyle": "-|>", "color": f"C{k}", "linewidth": 2}
    left.annotate("", arrow, (0, 0), arrowprops=style)
    directions = [[np.cos(angle), np.sin(angle)] for angle in np.radians(angles)]
    right.plot(angles, [measure(loss, X_test @ d) for d in directions], color=f"C{k}", label=name)
    angle = np.degrees(np.arctan2(weights[1], weights[0]))
    value = measure(loss, models[name].predict(X_test))
    right.plot(angle, value, color=f"C{k}", marker="o", markersize=9)
left.set(xlabel="first feature", ylabel="second feature", aspect="equal")
left.set(xlim=(-4.5, 4.5), ylim=(-4, 4))
left.legend(loc="lower right")
right.set(xlabel="direction in degrees, 90 is the second feature alone", ylabel="test score")
right.legend(title="measure; the dot is its model", loc="lower right")
plt.show()

# %%
# The models for the ROC area and for the last relevant row are close to the tops of their curves.
# The one for the first places has moved towards the top of its curve, but not all the way. What is
# minimised is a convex bound of the loss, and it can be far above a loss with sudden steps:

for name, model in models.items():
    bound = (model.objective_ - np.sum(model.coef_**2) / 2) / model.C
    print(f"{name}: bound {bound:.3f}, training loss {1 - model.score(X, y, qid=qid):.3f}")

# %%
# A bound far above the loss does not say that a model is poor, as the last one shows. It says that
# the minimum of the bound and that of the loss need not be close to each other.
#
#
# A function that will not do
# ---------------------------
#
# Not every increment is allowed. It must not rise with j, which is condition (C2) of Mohapatra et
# al. (2018); the fast algorithms would give wrong results otherwise. ``fit`` looks at all
# increments. The loss of the first places, written as increments, is an error: nothing is lost
# before the irrelevant row that pushes a relevant one off the page.


def step_off_the_page(j, i, n_pos, n_neg):
    """The difference of wasted(i, j) and wasted(i, j - 1)."""
    return 0.2 if i <= 5 and i + j == 6 else 0.0


try:
    RankSVC(loss=QSLoss(step_off_the_page)).fit(X, y, qid=qid)
except ValueError as error:
    print(error)

# %%
# As the message says, :class:`~skrank.losses.PositionLoss` takes such losses. It looks at the costs
# in the same way, and uses a dynamic programme where the fast algorithms are not exact.
