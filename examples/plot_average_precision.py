"""
====================================================
Training for average precision on an imbalanced task
====================================================

The loss of a usual classifier is a sum over rows, wherever they are ranked.
:class:`~skrank.APSVC` minimises a convex bound on one minus the average precision, in which an
error at the top of the ranking costs most. This example compares it with
:class:`~sklearn.svm.LinearSVC`, and looks at how the solver closes the duality gap.
"""

# %%
# An imbalanced task
# ------------------
#
# One row in twenty is positive, and the positives come in several clusters, so that no linear
# score separates the classes.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import PrecisionRecallDisplay
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import LinearSVC

from skrank import APSVC

X, y = make_classification(
    n_samples=4000,
    n_features=30,
    n_informative=10,
    n_clusters_per_class=3,
    weights=[0.95],
    class_sep=1.0,
    flip_y=0.02,
    random_state=1,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

# %%
# Both models get their C from the same kind of search.

models = {
    "APSVC": (APSVC(), np.logspace(0, 4, 5)),
    "LinearSVC": (LinearSVC(), np.logspace(-4, 0, 5)),
}
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
for name, (model, grid) in models.items():
    search = GridSearchCV(model, {"C": grid}, scoring="average_precision").fit(X_train, y_train)
    PrecisionRecallDisplay.from_estimator(search, X_test, y_test, name=name, ax=axes)
axes.axhline(y_test.mean(), color="grey", linestyle=":", label="random ranking")
axes.set_title("Test set, one row in twenty positive")
axes.legend(loc="upper right")

# %%
# How the solver converges
# ------------------------
#
# ``history_`` holds the objective at the best weights so far (primal) and the best lower bound on
# the optimum (dual) after each iteration. Their distance is the most that the fit can still gain,
# and the solver stops when it falls below ``tol`` times the objective.

model = APSVC(C=1000, tol=1e-4).fit(X_train, y_train)
primal, dual = model.history_["primal"], model.history_["dual"]
iteration = np.arange(1, len(primal) + 1)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(iteration, primal, label="primal: best objective")
left.plot(iteration, dual, label="dual: lower bound")
left.set(xlabel="iteration", ylabel="objective", yscale="log")
left.legend()
right.plot(iteration, (primal - dual) / primal, color="C2")
right.axhline(model.tol, color="grey", linestyle=":", label="tol")
right.set(xlabel="iteration", ylabel="relative duality gap", yscale="log")
right.legend()
plt.show()

# %%
# The gap is a certificate: no weights whatever have an objective below the dual value.

print(f"objective {model.objective_:.4f}, gap {model.dual_gap_:.2e}, {model.n_iter_} iterations")
