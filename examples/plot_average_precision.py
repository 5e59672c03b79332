"""
====================================================
Training for average precision on an imbalanced task
====================================================

The loss of a usual classifier is a sum over rows, wherever they are ranked.
:class:`~skrank.APSVC` minimises a convex bound on one minus the average precision of the whole
ranking. This example compares it with :class:`~sklearn.svm.LinearSVC` on an easy and on a hard
task, shows how to tell from the fitted model which of the two it is, and looks at how the solver
closes the duality gap.
"""

# %%
# Two imbalanced tasks
# --------------------
#
# One row in twenty is positive, and each class has three clusters. In the easy task they are far
# apart, in the hard one they overlap.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import PrecisionRecallDisplay
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import LinearSVC

from skrank import APSVC


def make_task(class_sep):
    """Training and test half of a task: the larger `class_sep`, the easier it is."""
    X, y = make_classification(
        n_samples=4000,
        n_features=30,
        n_informative=10,
        n_clusters_per_class=3,
        weights=[0.95],
        class_sep=class_sep,
        flip_y=0.0,
        random_state=1,
    )
    return train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)


tasks = {"easy task": make_task(3.0), "hard task": make_task(1.0)}
models = {
    "APSVC": (APSVC(), np.logspace(-1, 3, 5)),
    "LinearSVC": (LinearSVC(), np.logspace(-4, 0, 5)),
}

# %%
# Both models get their C from the same kind of search.

searches = {}
figure, panels = plt.subplots(1, 2, figsize=(10, 5.6), layout="constrained", sharey=True)
for axes, (task, (X_train, X_test, y_train, y_test)) in zip(panels, tasks.items(), strict=True):
    for name, (model, grid) in models.items():
        search = GridSearchCV(model, {"C": grid}, scoring="average_precision")
        searches[task, name] = search.fit(X_train, y_train)
        PrecisionRecallDisplay.from_estimator(search, X_test, y_test, name=name, ax=axes)
    axes.axhline(y_test.mean(), color="grey", linestyle=":", label="random ranking")
    axes.set(title=task, xlabel="Recall", ylabel="Precision")
    axes.legend(loc="lower left" if task == "easy task" else "upper right")

# %%
# How tight the bound is
# ----------------------
#
# What is minimised is a bound, and it can be far above the loss. On the hard task it stays close to
# 1, about its value at zero weights. The bound follows from the attributes of any fitted model.
# When it is near 1, compare with other classifiers before relying on the model.

for task, (X_train, _, y_train, _) in tasks.items():
    model = searches[task, "APSVC"].best_estimator_
    bound = (model.objective_ - np.sum(model.coef_**2) / 2) / model.C
    loss = 1 - model.score(X_train, y_train)
    print(f"{task}: bound {bound:.3f}, one minus average precision {loss:.3f}")

# %%
# How the solver converges
# ------------------------
#
# ``history_`` holds the objective at the best weights so far (primal) and the best lower bound on
# the optimum (dual) after each iteration. Their distance is the most that the fit can still gain,
# and the solver stops when it falls below ``tol`` times the objective.

X_train, _, y_train, _ = tasks["easy task"]
model = APSVC(C=100, tol=1e-4).fit(X_train, y_train)
primal, dual = model.history_["primal"], model.history_["dual"]
iteration = np.arange(1, len(primal) + 1)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(iteration, primal, label="primal: best objective")
left.plot(iteration, dual, label="dual: lower bound")
left.set(xlabel="iteration", ylabel="objective")
left.legend()
right.plot(iteration, (primal - dual) / primal, color="C2")
right.axhline(model.tol, color="grey", linestyle=":", label="tol")
right.set(xlabel="iteration", ylabel="relative duality gap", yscale="log")
right.legend()
for axes in (left, right):
    axes.xaxis.get_major_locator().set_params(integer=True)
plt.show()

# %%
# The gap is a certificate: no weights whatever have an objective below the dual value.

print(f"objective {model.objective_:.4f}, gap {model.dual_gap_:.2e}, {model.n_iter_} iterations")
