"""
Finding objects by ranking windows
==================================

Before an object in an image can be recognised, it has to be found. One way is to score many
candidate windows by cheap features, and to look closely at the best few only. How well a window
fits is a number, its overlap with an object, and :class:`~skrank.StructRankSVM` learns from such
numbers which windows to put first. As in figure 2 of Blaschko, Mittal and Rahtu, "An O(n log n)
cutting plane algorithm for structured output ranking" (2014), this example compares three
preference graphs and two kinds of rescaling, on made-up images and, if its file is at hand, on a
real data set.
"""

# %%
# Images, windows and objects
# ---------------------------
#
# :func:`~skrank.datasets.make_windows` draws images with three objects, twenty boxes of clutter and
# 2,000 windows each. The features respond to objects and to clutter, and some objects hardly stand
# out. They also depend on contrast and brightness, so they are comparable within an image only.
# The relevance of a window is its largest overlap with an object: the area of their intersection
# over the area of their union.
#
# Forty images are there to train on, sixty to test on.

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from matplotlib.patches import Rectangle
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import StructRankSVM
from skrank.datasets import make_windows
from skrank.metrics import ranking_risk_scorer

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, help="folder with bccd_windows.npz")
folder = parser.parse_known_args()[0].data

X, y, qid, boxes, objects = make_windows(100, n_windows=2000, random_state=0)
train = qid < 40
print(f"{np.count_nonzero(train):,} windows to train on, {np.count_nonzero(~train):,} to test on")
for least in (0.5, 0.7, 0.9):
    print(f"overlap of at least {least}: {np.mean(y >= least):4.1%} of the windows")

# %%
# Six rankers
# -----------
#
# With ``graph="complete"`` all pairs of windows of an image are to be in the right order. With
# "bipartite" its best 100 windows are to come before the others, and with "star" the best one. (In
# the paper it is the true boxes that come first in the star.) Slack rescaling weighs the hinge
# of a pair by its difference of relevance; margin rescaling asks for a difference of scores as
# large.
#
# The image is the query of a window and goes through pipelines and searches as ``qid``. Each model
# gets its C from a search by the ranking risk over all pairs. A ridge regression of the relevance,
# which knows nothing of pairs and images, is searched in the same way.

sklearn.set_config(enable_metadata_routing=True)


def search_all(X, y, qid, top):
    """All models by name, fitted; C is searched with images kept whole."""
    models = {}
    for graph in ("complete", "bipartite", "star"):
        for rescaling in ("slack", "margin"):
            ranker = StructRankSVM(graph=graph, rescaling=rescaling)
            if graph == "bipartite":
                ranker.set_params(top=top)
            models[f"{graph}, {rescaling}"] = (ranker, "structranksvm__C", np.logspace(0, 3, 4))
    models["ridge"] = (Ridge(), "ridge__alpha", np.logspace(0, 6, 4))
    for name, (model, parameter, values) in models.items():
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model),
            {parameter: values},
            scoring=ranking_risk_scorer,
            cv=GroupKFold(2).set_split_request(groups="qid"),
        )
        models[name] = search.fit(X, y, qid=qid)
        chosen = search.best_params_[parameter]
        print(
            f"{name:<18} {parameter.split('__')[1]:>5} = {chosen:<6g} "
            f"ranking risk in the folds {1 - search.best_score_:.3f}"
        )
    return models


models = search_all(X[train], y[train], qid[train], top=100)

# %%
# From scores to the first k windows
# ----------------------------------
#
# The windows around one object have similar scores. Greedy non-maximum suppression goes through the
# windows of an image in their order, and drops those that overlap by more than 0.7 with one that it
# has kept.


def overlaps(boxes, others):
    """Intersection over union of each box with each other one."""
    left, top, right, bottom = boxes.T[:, :, None]
    left_, top_, right_, bottom_ = others.T
    width = np.minimum(right, right_) - np.maximum(left, left_)
    height = np.minimum(bottom, bottom_) - np.maximum(top, top_)
    shared = np.maximum(width, 0) * np.maximum(height, 0)
    areas = (right - left) * (bottom - top) + (right_ - left_) * (bottom_ - top_)
    return shared / (areas - shared)


def suppress(scores, near, k):
    """The first k windows by score of those that are near to none kept before them."""
    kept, free = [], np.ones(len(scores), dtype=bool)
    for window in np.argsort(-scores, kind="stable"):
        if free[window]:
            kept.append(window)
            if len(kept) == k:
                break
            free &= ~near[window]
    return kept


# %%
# Three test images, with the objects in green and the first ten windows that are kept: blue where
# they overlap by at least one half with an object, and grey elsewhere.

figure, panels = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for axes, image in zip(panels, (41, 49, 58), strict=True):
    rows = np.flatnonzero(qid == image)
    near = overlaps(boxes[rows], boxes[rows]) > 0.7
    first = rows[suppress(models["complete, slack"].predict(X[rows]), near, 10)]
    colours = np.where(y[first] >= 0.5, "tab:blue", "0.7")
    shown = [(box, "tab:green", 4) for box in objects[image]]
    shown += [(boxes[row], colour, 1.3) for row, colour in zip(first, colours, strict=True)]
    for (left, top, right, bottom), colour, width in shown:
        frame = Rectangle((left, top), right - left, bottom - top, fill=False)
        frame.set(edgecolor=colour, linewidth=width, zorder=2 if colour == "0.7" else 3)
        axes.add_patch(frame)
    axes.set(title=f"image {image}", aspect="equal", xticks=[], yticks=[])
    axes.set(xlim=(-0.01, 1.01), ylim=(1.01, -0.01))
plt.show()

# %%
# Recall by overlap
# -----------------
#
# Of the first k windows that are kept, the best for each object counts. The object is found if it
# overlaps by at least t with that window. The curves are the share of objects found, by t. The area
# under a curve from 0.5 to 1, divided by 0.5, is 1 if each object has a perfect window.
#
# Two orders are shown for comparison: a random one, and the order by the relevance itself, which no
# model knows. The latter does not reach 1 either, since no window is perfect.

GREY = "0.55"
STYLES = {
    f"{graph}, {rescaling}": {"color": colour, "linestyle": line}
    for graph, colour in {"complete": "C0", "bipartite": "C1", "star": "C2"}.items()
    for rescaling, line in {"slack": "-", "margin": "--"}.items()
} | {
    "ridge": {"color": "black", "linestyle": "-.", "linewidth": 1.2},
    "random order": {"color": GREY, "linestyle": ":"},
    "relevance": {"color": GREY, "linestyle": "-", "linewidth": 1.2},
}


def best_found(models, X, y, qid, boxes, overlap_with_objects, counts):
    """For each order, the largest overlap of each object with one of the first k windows.

    An array of shape (n_images, n_counts, n_objects) for each of them.
    """
    scores = {name: model.predict(X) for name, model in models.items()}
    scores["random order"] = np.random.default_rng(0).normal(size=len(y))
    scores["relevance"] = y
    found = {name: [] for name in scores}
    for image in np.unique(qid):
        rows = np.flatnonzero(qid == image)
        near = overlaps(boxes[rows], boxes[rows]) > 0.7
        overlap = overlap_with_objects(image, rows)
        for name, values in scores.items():
            kept = suppress(values[rows], near, max(counts))
            found[name].append([overlap[kept[:k]].max(axis=0) for k in counts])
    return {name: np.array(values) for name, values in found.items()}


def draw_recall(found, counts):
    """A panel for each k, and a table of the areas under the curves."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 4.6), layout="constrained", sharey=True)
    least = np.linspace(0.5, 1, 101)
    for column, (axes, k) in enumerate(zip(panels, counts, strict=True)):
        for name, style in STYLES.items():
            best = found[name][:, column].ravel()
            axes.plot(least, np.mean(best >= least[:, None], axis=1), label=name, **style)
        title = f"first {k:,} windows" if k > 1 else "first window"
        axes.set(title=title, xlabel="least overlap t", xlim=(0.5, 1), ylim=(0, 1.02))
        axes.grid(alpha=0.3)
    panels[0].set(ylabel="share of objects found")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    plt.show()
    print("area from 0.5 to 1" + "".join(f"{k:>8,}" for k in counts))
    for name, best in found.items():
        # the area under a step at b is the part of 0.5 to 1 that lies below b
        areas = np.clip(2 * best - 1, 0, 1).mean(axis=(0, 2))
        print(f"{name:<18}" + "".join(f"{area:8.3f}" for area in areas))


counts = (10, 100, 1000)
found = best_found(
    models,
    X[~train],
    y[~train],
    qid[~train],
    boxes[~train],
    lambda image, rows: overlaps(boxes[~train][rows], objects[image]),
    counts,
)
draw_recall(found, counts)

# %%
# The six rankers are close to each other. Ridge regression finds fewer objects with the first 10
# and 100 windows, since contrast and brightness of the images mislead it. Among the first 1,000 of
# 2,000 windows, half of all, an order hardly matters, and there it is the best of the models.
#
# A real data set
# ---------------
#
# With ``--data FOLDER``, where the folder has ``bccd_windows.npz``, the same is done for pictures
# of blood cells. There are about 70 candidate windows in an image, so k is 1, 3 and 10, and the
# three best windows are the top of the bipartite graph. The relevance is the overlap with a white
# blood cell, the best one if an image has several. Images without any are left out.

if folder is not None:
    with np.load(folder / "bccd_windows.npz") as archive:
        X, y, qid = archive["X"].astype(float), archive["iou_wbc"].astype(float), archive["image"]
        boxes, test = archive["box"].astype(float), archive["split"] == 2
    kept = np.isin(qid, qid[y > 0])
    X, y, qid, boxes, test = (array[kept] for array in (X, y, qid, boxes, test))
    models = search_all(X[~test], y[~test], qid[~test], top=3)
    X, y, qid, boxes = (array[test] for array in (X, y, qid, boxes))
    counts = (1, 3, 10)
    draw_recall(
        best_found(models, X, y, qid, boxes, lambda image, rows: y[rows][:, None], counts), counts
    )
