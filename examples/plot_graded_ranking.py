"""
===============================
Ranking with queries and grades
===============================

In search, each query has a list of documents with grades of relevance, and a ranking is judged by
its normalised discounted cumulative gain (NDCG). :class:`~skrank.NDCGSVC` is trained for that
measure. This example compares it with ridge regression of the grades, in pipelines and grid
searches that keep queries whole, and looks at where the grades stand in the rankings.
"""

# %%
# Queries of different popularity
# -------------------------------
#
# Each query has between 10 and 60 documents with grades from 0 to 4. Grades rise with a linear
# signal in the features, and with the popularity of the query: popular queries have more relevant
# documents. The first feature is higher for popular queries too, as a count of clicks would be.
# Between queries this goes along with higher grades; within a query it says nothing.

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from matplotlib.colors import ListedColormap
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skrank import NDCGSVC
from skrank.metrics import mean_ndcg, mean_ndcg_scorer

N_FEATURES = 20
signal = np.random.default_rng(99).normal(size=N_FEATURES)
signal /= np.linalg.norm(signal)


def make_queries(n_queries, rng):
    """Features, grades and query of each document; every query has a relevant document."""
    features, grades, qid = [], [], []
    while len(qid) < n_queries:
        n_rows = rng.integers(10, 61)
        popularity = rng.normal()
        X = rng.normal(size=(n_rows, N_FEATURES))
        appeal = X @ signal + 0.5 * rng.normal(size=n_rows) + 0.7 * popularity
        X[:, 0] += 2.0 * popularity
        y = np.digitize(appeal, [0.9, 1.6, 2.2, 2.8])
        if 0 < np.count_nonzero(y) < n_rows:
            features.append(X)
            grades.append(y)
            qid.append(np.full(n_rows, len(qid)))
    return np.concatenate(features), np.concatenate(grades), np.concatenate(qid)


rng = np.random.default_rng(0)
X_train, y_train, qid_train = make_queries(150, rng)
X_test, y_test, qid_test = make_queries(300, rng)
for grade, share in enumerate(np.bincount(y_train) / len(y_train)):
    print(f"grade {grade}: {share:6.1%} of the training documents")

# %%
# Searches that keep queries whole
# --------------------------------
#
# With metadata routing enabled, ``qid`` reaches all that ask for it. ``NDCGSVC.fit`` and
# ``NDCGSVC.score`` do so by themselves, and so does the scorer by which the ridge regression is
# searched. The splitter has to be told that the queries are its groups.

sklearn.set_config(enable_metadata_routing=True)
folds = GroupKFold().set_split_request(groups="qid")
ranker = GridSearchCV(
    make_pipeline(StandardScaler(), NDCGSVC()),
    {"ndcgsvc__C": np.logspace(-1, 3, 5)},
    cv=folds,
)
regression = GridSearchCV(
    make_pipeline(StandardScaler(), Ridge()),
    {"ridge__alpha": np.logspace(-1, 5, 7)},
    scoring=mean_ndcg_scorer,
    cv=folds,
)

# %%
# A regression is fitted to the differences between queries as well. These can be taken out by hand:
# in the third model, the mean over its query is subtracted from each feature first.


def centre(X, qid):
    """Subtract the mean over the query; queries are numbered 0, 1, 2, ..."""
    means = np.array([X[qid == query].mean(axis=0) for query in np.unique(qid)])
    return X - means[qid]


scores = {}
for name, search, prepare in [
    ("NDCGSVC", ranker, lambda X, qid: X),
    ("ridge", regression, lambda X, qid: X),
    ("ridge, centred", regression, centre),
]:
    search.fit(prepare(X_train, qid_train), y_train, qid=qid_train)
    scores[name] = search.predict(prepare(X_test, qid_test))
    print(f"{name}: {search.best_params_}, NDCG of the folds {search.best_score_:.3f}")

# %%
# NDCG by cut-off
# ---------------
#
# NDCG at k counts the first k places only. Scores that are all equal give what rankings in random
# order have on average, since ties share the discounts of their places. On the right are the
# differences from :class:`~skrank.NDCGSVC`, query by query, with two standard errors of their mean.


def ndcg_of_each_query(values, k):
    """NDCG at k of each test query by itself."""
    queries = [qid_test == query for query in np.unique(qid_test)]
    return np.array([mean_ndcg(y_test[rows], values[rows], k=k) for rows in queries])


cutoffs = [1, 2, 3, 5, 7, 10, 15, 20]
random_order = [mean_ndcg(y_test, np.zeros(len(y_test)), qid=qid_test, k=k) for k in cutoffs]
ndcg = {name: [ndcg_of_each_query(values, k) for k in cutoffs] for name, values in scores.items()}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
styles = {
    "NDCGSVC": {"color": "C0", "marker": "."},
    "ridge": {"color": "C1", "marker": "."},
    "ridge, centred": {"color": "C2", "linestyle": "--"},
}
for name, style in styles.items():
    left.plot(cutoffs, np.mean(ndcg[name], axis=1), label=name, **style)
    if name != "NDCGSVC":
        difference = np.subtract(ndcg[name], ndcg["NDCGSVC"])
        mean = difference.mean(axis=1)
        error = difference.std(axis=1, ddof=1) / np.sqrt(difference.shape[1])
        right.plot(cutoffs, mean, label=name, **style)
        band = {"color": style["color"], "alpha": 0.2, "linewidth": 0}
        right.fill_between(cutoffs, mean - 2 * error, mean + 2 * error, **band)
left.plot(cutoffs, random_order, color="grey", linestyle=":", label="random order")
left.set(ylabel="mean over 300 test queries", title="NDCG at k", ylim=(0, 1))
right.axhline(0, color="C0")
right.set(title="NDCG at k minus that of NDCGSVC")
for axes in (left, right):
    axes.set(xlabel="cut-off k", xticks=[1, 5, 10, 15, 20])
left.legend(loc="center right")
right.legend(loc="lower right")

# %%
# :class:`~skrank.NDCGSVC` is better than the regression on the features as they are, at every
# cut-off. The regression on centred features is as good as it. So what counts on this task is that
# documents are compared within their query, which a ranker does by itself, and not that it is
# trained for NDCG.
#
# Where the grades stand
# ----------------------
#
# Each row is one of the first twelve test queries, each column a place in its ranking, and the
# colour is the grade of the document there. Some queries have fewer than 25 documents.

n_queries, n_places = 12, 25
panels = {"best ranking": y_test, "NDCGSVC": scores["NDCGSVC"], "ridge": scores["ridge"]}
colours = ListedColormap(["0.93", *plt.get_cmap("YlGnBu")([0.3, 0.5, 0.75, 1.0])])
figure, all_axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained", sharey=True)
for axes, (name, values) in zip(all_axes, panels.items(), strict=True):
    grades = np.full((n_queries, n_places), np.nan)
    for query in range(n_queries):
        rows = np.flatnonzero(qid_test == query)
        ranked = rows[np.argsort(-values[rows])][:n_places]
        grades[query, : len(ranked)] = y_test[ranked]
    x, y = np.arange(n_places) + 1, np.arange(n_queries) + 1
    mesh = axes.pcolormesh(x, y, grades, cmap=colours, vmin=-0.5, vmax=4.5, edgecolors="white")
    axes.set(title=name, xlabel="place", xticks=[1, 5, 10, 15, 20, 25], yticks=[1, 4, 8, 12])
all_axes[0].set(ylabel="test query")
all_axes[0].invert_yaxis()
figure.colorbar(mesh, ax=all_axes, label="grade", ticks=range(5))
plt.show()

# %%
# Both models put most documents of grade 3 and 4 on the first places, and leave some further down.
# Over all test queries:

places = np.empty(len(y_test))
for name, values in panels.items():
    for query in np.unique(qid_test):
        rows = np.flatnonzero(qid_test == query)
        places[rows[np.argsort(-values[rows])]] = np.arange(len(rows)) + 1
    share = np.mean(places[y_test >= 3] > 10)
    print(f"{name}: {share:.1%} of the documents of grade 3 and 4 stand below place 10")
