"""LovaszHingeClassifier as people use it, and its solutions against independent ones."""

import pickle
import warnings
from itertools import permutations

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import set_reference as reference
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
from sklearn.metrics import jaccard_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank import LovaszHingeClassifier
from skrank.datasets import make_early_detection
from skrank.losses import CappedWeighted, EarlyDetection, Jaccard, SetLoss

PRECISE = {"tol": 1e-8, "max_iter": 5000}
LIBLINEAR = {"loss": "hinge", "dual": True, "tol": 1e-9, "max_iter": 2_000_000, "random_state": 0}


@pytest.mark.filterwarnings("ignore:Zero weights")  # some checks have labels drawn at random
@pytest.mark.filterwarnings("ignore:There are sets of more than 16")
@pytest.mark.filterwarnings("ignore:The solver did not converge")
@parametrize_with_checks(
    [
        LovaszHingeClassifier(),
        LovaszHingeClassifier(loss="hamming", fit_intercept=False),
        LovaszHingeClassifier(surrogate="slack", max_iter=200),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def multilabel():
    X, Y = make_multilabel_classification(n_samples=200, n_features=10, n_labels=2, random_state=0)
    return StandardScaler().fit_transform(X), Y


@pytest.fixture(scope="module")
def images():
    """Rows of 25 sets in random order, one in five positive."""
    rng = np.random.default_rng(0)
    qid = rng.integers(25, size=1000)
    X = rng.standard_normal((1000, 5))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.standard_normal(1000) > 1.0
    return X, y.astype(int), qid


def independent_solution(scores_of, loss, sets, shape, C, surrogate="lovasz", increasing=True):
    """All constraints of all sets at once: one for each order, or each set of mistakes."""
    w = cp.Variable(shape)
    risk, constraints = 0.0, []
    for y, scores in zip(sets, scores_of(w), strict=True):
        n = y.size
        t = np.where(y, 1.0, -1.0)
        margins = cp.multiply(t, scores)
        slack = cp.Variable(nonneg=True)
        risk = risk + slack / len(sets)
        if surrogate == "lovasz":
            s = cp.pos(1.0 - margins) if increasing else 1.0 - margins
            for order in permutations(range(n)):
                gains = np.empty(n)
                gains[list(order)] = reference.gains_along(loss, order, y)
                constraints.append(slack >= gains @ s)
        else:
            for members in reference.subsets(n)[1:]:
                total = cp.sum(margins[list(members)])
                value = loss(members, y)
                violation = value - total if surrogate == "margin" else value * (1.0 - total)
                constraints.append(slack >= violation)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * risk), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value, w.value


class TestIndependentSolutions:
    @pytest.mark.parametrize(
        ("name", "definition"),
        [
            ("jaccard", reference.jaccard),
            (
                CappedWeighted([1.0, 0.5, 0.2], cap=1.3),
                reference.capped_weighted([1, 0.5, 0.2], 1.3),
            ),
            ("early_detection", reference.early_detection(1.0)),
            ("concave_cardinality", reference.concave_cardinality(1.0)),
        ],
        ids=["jaccard", "capped", "early", "concave"],
    )
    @pytest.mark.parametrize("surrogate", ["lovasz", "margin", "slack"])
    def test_labels(self, name, definition, surrogate):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((14, 3))
        Y = X @ rng.standard_normal((3, 3)) + 0.7 * rng.standard_normal((14, 3)) > 0.3
        Z = np.column_stack([X, np.ones(14)])
        C = 8.0

        def scores_of(W):
            return [Z[i] @ W for i in range(14)]

        value, W = independent_solution(scores_of, definition, Y, (4, 3), C, surrogate)
        model = LovaszHingeClassifier(C=C, loss=name, surrogate=surrogate, **PRECISE).fit(X, Y)
        assert model.objective_ == pytest.approx(value, rel=1e-6)
        assert_allclose(model.coef_, W[:3].T, atol=2e-3)
        assert_allclose(model.intercept_, W[3], atol=2e-3)

    @pytest.mark.parametrize("fit_intercept", [True, False])
    def test_rows_in_sets(self, fit_intercept):
        rng = np.random.default_rng(1)
        X, qid = rng.standard_normal((22, 3)), np.repeat(["b", "a", "d", "c", "e"], [5, 4, 5, 3, 5])
        y = X[:, 0] + rng.standard_normal(22) > 0.3
        Z = np.column_stack([X, np.ones(22)]) if fit_intercept else X
        sets = [np.flatnonzero(qid == q) for q in "abcde"]

        def scores_of(w):
            return [Z[rows] @ w for rows in sets]

        truths = [y[rows] for rows in sets]
        value, w = independent_solution(scores_of, reference.jaccard, truths, Z.shape[1], 6.0)
        order = rng.permutation(22)
        model = LovaszHingeClassifier(C=6.0, fit_intercept=fit_intercept, **PRECISE)
        model.fit(X[order], y[order], qid=qid[order])
        assert model.objective_ == pytest.approx(value, rel=1e-6)
        assert_allclose(model.coef_[0], w[:3], atol=2e-3)
        assert_allclose(model.intercept_[0], w[3] if fit_intercept else 0.0, atol=2e-3)

    def test_elements_with_features_of_their_own(self):
        X, y = make_early_detection(20, n_elements=4, n_early=2, random_state=0)
        Z = np.concatenate([X, np.ones((20, 4, 1))], axis=2)
        loss = reference.early_detection(1.0)

        def scores_of(w):
            return [Z[q] @ w for q in range(20)]

        value, w = independent_solution(scores_of, loss, y > 0, 3, 5.0)
        model = LovaszHingeClassifier(C=5.0, loss=EarlyDetection(), **PRECISE).fit(X, y)
        assert model.objective_ == pytest.approx(value, rel=1e-6)
        assert_allclose(model.coef_[0], w[:2], atol=2e-3)

    def test_loss_that_is_not_increasing(self):
        def falls_in_the_end(wrong, y):
            return wrong.mean() * (1.6 - wrong.mean())

        def definition(members, y):
            return falls_in_the_end(reference.indicator(members, len(y)), y)

        rng = np.random.default_rng(2)
        X = rng.standard_normal((15, 3))
        Y = X @ rng.standard_normal((3, 4)) + rng.standard_normal((15, 4)) > 0.0

        def scores_of(W):
            return [X[i] @ W for i in range(15)]

        value, _ = independent_solution(scores_of, definition, Y, (3, 4), 4.0, increasing=False)
        model = LovaszHingeClassifier(
            C=4.0, loss=SetLoss(falls_in_the_end, increasing=False), fit_intercept=False, **PRECISE
        )
        assert model.fit(X, Y).objective_ == pytest.approx(value, rel=1e-6)


class TestHamming:
    """The sum of hinge losses, as LinearSVC has it; C is divided by the number of elements."""

    @staticmethod
    def objective(coef, intercept, X, t, C):
        hinge = np.maximum(0.0, 1.0 - t * (X @ coef.T + intercept))
        return 0.5 * (np.sum(coef**2) + np.sum(intercept**2)) + C * hinge.sum()

    def test_labels(self, multilabel):
        X, Y = multilabel
        t = np.where(Y > 0, 1.0, -1.0)
        C = 0.1
        model = LovaszHingeClassifier(C=C * Y.size, loss="hamming", tol=1e-6).fit(X, Y)
        columns = [LinearSVC(C=C, **LIBLINEAR).fit(X, column) for column in Y.T]
        coef = np.vstack([c.coef_ for c in columns])
        intercept = np.concatenate([c.intercept_ for c in columns])
        expected = self.objective(coef, intercept, X, t, C)
        assert model.objective_ == pytest.approx(expected, rel=1e-4)
        ours = self.objective(model.coef_, model.intercept_, X, t, C)
        assert ours == pytest.approx(model.objective_, rel=1e-9)
        assert_allclose(model.coef_, coef, atol=0.02)

    def test_one_set(self, images):
        X, y, _ = images
        C = 0.1
        model = LovaszHingeClassifier(C=C * y.size, loss="hamming", tol=1e-6).fit(X, y)
        other = LinearSVC(C=C, **LIBLINEAR).fit(X, y)
        t = np.where(y > 0, 1.0, -1.0)[:, None]
        expected = self.objective(other.coef_, other.intercept_, X, t, C)
        assert model.objective_ == pytest.approx(expected, rel=1e-4)
        assert_allclose(model.coef_, other.coef_, atol=0.02)


class TestKindsOfLabels:
    def test_attributes(self, multilabel):
        X, Y = multilabel
        frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(10)])
        model = LovaszHingeClassifier().fit(frame, pd.DataFrame(Y, columns=list("abcde")))
        assert model.coef_.shape == (5, 10)
        assert model.intercept_.shape == (5,)
        assert_array_equal(model.classes_, np.arange(5))
        assert model.converged_ is True
        assert 0.0 <= model.dual_gap_ <= 1e-3
        assert len(model.history_["primal"]) == model.n_iter_
        assert model.feature_names_in_.tolist() == list(frame.columns)
        assert is_classifier(model)
        assert model.__sklearn_tags__().classifier_tags.multi_label
        scores = model.decision_function(frame)
        assert scores.shape == Y.shape
        assert_array_equal(model.predict(frame), scores > 0)
        assert_allclose(scores, X @ model.coef_.T + model.intercept_)
        expected = jaccard_score(Y, model.predict(frame), average="samples", zero_division=1)
        assert model.score(frame, Y) == pytest.approx(expected)

    def test_jaccard_index_is_higher_than_with_the_mean_of_hinge_losses(self):
        """Of rare positives on training data, with C tuned for each."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((4000, 5))
        y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(4000) > 2.0
        best = {
            loss: max(
                jaccard_score(y, LovaszHingeClassifier(C=C, loss=loss).fit(X, y).predict(X))
                for C in (10, 100, 1000)
            )
            for loss in ("jaccard", "hamming")
        }
        assert best["jaccard"] > best["hamming"] + 0.04

    @pytest.mark.parametrize("kind", ["bool", "float", "sparse", "list", "int8"])
    def test_indicators_of_any_type(self, multilabel, kind):
        X, Y = multilabel
        given = {
            "bool": Y.astype(bool),
            "float": Y.astype(float),
            "sparse": sp.csr_array(Y),
            "list": Y.tolist(),
            "int8": Y.astype(np.int8),
        }[kind]
        expected = LovaszHingeClassifier().fit(X, Y)
        model = LovaszHingeClassifier().fit(X, given)
        assert_allclose(model.coef_, expected.coef_)
        assert model.score(X, given) == expected.score(X, Y)

    @pytest.mark.parametrize(
        ("negative", "positive"), [("cat", "dog"), (False, True), (-1, 1), (1.0, 2.0)]
    )
    def test_labels_of_any_type(self, images, negative, positive):
        X, y, qid = images
        labels = np.where(y == 1, positive, negative)
        model = LovaszHingeClassifier().fit(X, labels, qid=qid)
        expected = LovaszHingeClassifier().fit(X, y, qid=qid)
        assert_array_equal(model.classes_, [negative, positive])
        assert_array_equal(model.predict(X) == positive, expected.predict(X) == 1)
        assert model.score(X, labels, qid=qid) == expected.score(X, y, qid=qid)
        assert model.coef_.shape == (1, 5)
        assert model.decision_function(X).shape == y.shape

    def test_constant_columns_and_empty_rows(self, multilabel):
        X, Y = multilabel
        Y = Y.copy()
        Y[:, 1], Y[:, 3] = 1, 0
        Y[:20] = 0
        Y[:20, 1] = 1
        model = LovaszHingeClassifier(C=100).fit(X, Y)
        predicted = model.predict(X)
        assert predicted[:, 1].all()
        assert not predicted[:, 3].any()
        Y[:, 1] = 0
        assert 20 <= np.count_nonzero(Y.sum(axis=1) == 0)
        assert LovaszHingeClassifier(C=100).fit(X, Y).score(X, Y) > 0.4

    def test_a_column_is_one_dimensional(self, images):
        X, y, qid = images
        with pytest.warns(DataConversionWarning, match="column-vector"):
            model = LovaszHingeClassifier().fit(X, y[:, None], qid=qid)
        assert_array_equal(model.predict(X), LovaszHingeClassifier().fit(X, y, qid=qid).predict(X))

    def test_more_than_two_classes(self):
        X, y = load_iris(return_X_y=True)
        names = np.array(["setosa", "versicolor", "virginica"])[y]
        model = LovaszHingeClassifier(C=30, n_jobs=2).fit(X, names)
        for k, name in enumerate(model.classes_):
            one = LovaszHingeClassifier(C=30).fit(X, names == name)
            assert_allclose(model.coef_[k], one.coef_[0])
            assert model.objective_[k] == one.objective_
        assert model.converged_.shape == (3,)
        assert_array_equal(
            model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)]
        )
        expected = jaccard_score(names, model.predict(X), average="macro")
        assert model.score(X, names) == pytest.approx(expected)
        # a class that neither occurs nor is predicted has no mistakes
        assert model.score(X[:50], names[:50]) == 1.0

    def test_queries_are_sets(self, images):
        X, y, qid = images
        model = LovaszHingeClassifier(C=100).fit(X, y, qid=qid)
        predicted = model.predict(X)
        expected = np.mean(
            [
                jaccard_score(y[qid == q], predicted[qid == q], zero_division=1)
                for q in np.unique(qid)
            ]
        )
        assert model.score(X, y, qid=qid) == pytest.approx(expected)
        with pytest.warns(UserWarning, match=r"25 queries .* all rows are one set"):
            assert model.score(X, y) == pytest.approx(jaccard_score(y, predicted))
        order = np.random.default_rng(0).permutation(y.size)
        names = np.array([f"image {q}" for q in qid])
        other = LovaszHingeClassifier(C=100).fit(X[order], y[order], qid=names[order])
        assert other.objective_ == pytest.approx(model.objective_, rel=2e-3)

    def test_order_of_rows_does_not_matter(self, images):
        X, y, qid = images
        order = np.random.default_rng(0).permutation(y.size)
        first, second = (
            LovaszHingeClassifier(**PRECISE).fit(X[rows], y[rows], qid=qid[rows])
            for rows in (np.arange(y.size), order)
        )
        assert_allclose(second.coef_, first.coef_, atol=1e-4)

    def test_three_dimensions(self):
        X, y = make_early_detection(60, random_state=0)
        model = LovaszHingeClassifier(C=100).fit(X, y)
        rows = LovaszHingeClassifier(C=100).fit(
            X.reshape(-1, 2), y.ravel(), qid=np.repeat(np.arange(60), 15)
        )
        assert_allclose(model.coef_, rows.coef_)
        assert model.predict(X).shape == y.shape
        assert_array_equal(model.predict(X).ravel(), rows.predict(X.reshape(-1, 2)))
        assert_array_equal(model.classes_, [0, 1])
        assert_allclose(model.decision_function(X[:3, :4]), model.decision_function(X)[:3, :4])
        assert model.score(X, y) == pytest.approx(
            rows.score(X.reshape(-1, 2), y.ravel(), qid=np.repeat(np.arange(60), 15))
        )
        assert cross_val_score(model, X, y, cv=3).shape == (3,)
        nested = LovaszHingeClassifier(C=100).fit(X.tolist(), y.tolist())
        assert_allclose(nested.coef_, model.coef_)


class TestData:
    @pytest.mark.parametrize("kind", ["float32", "F", "sparse", "sparse float32"])
    def test_any_storage(self, multilabel, kind):
        X, Y = multilabel
        X = X.astype(np.float32).astype(np.float64)
        stored = {
            "float32": X.astype(np.float32),
            "F": np.asfortranarray(X),
            "sparse": sp.csr_array(X),
            "sparse float32": sp.csr_matrix(X.astype(np.float32)),
        }[kind]
        for y in (Y, Y[:, 0]):
            expected = LovaszHingeClassifier(tol=1e-6).fit(X, y)
            model = LovaszHingeClassifier(tol=1e-6).fit(stored, y)
            assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6)
            assert_allclose(model.coef_, expected.coef_, atol=1e-3)
            assert_allclose(model.decision_function(stored), model.decision_function(X), atol=1e-5)

    def test_wide_data_with_many_labels(self):
        """More columns than rows, where a solver of its own may take over."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((60, 250))
        Y = rng.random((60, 3)) < 0.4
        model = LovaszHingeClassifier(C=1e4, max_iter=3000).fit(X, Y)
        assert model.converged_
        assert model.score(X, Y) == 1.0

    def test_warm_start(self, multilabel, images):
        X, Y = multilabel
        for fit_intercept in (True, False):
            model = LovaszHingeClassifier(
                C=100, tol=1e-4, warm_start=True, fit_intercept=fit_intercept
            )
            first = clone(model).fit(X, Y).objective_
            again = model.fit(X, Y).fit(X, Y)
            assert again.objective_ <= first * (1.0 + 1e-12)
            assert again.history_["primal"][0] <= first * (1.0 + 1e-9)
        with pytest.raises(ValueError, match="warm_start needs the multilabel labels"):
            model.fit(X, Y[:, 0])
        X, y, qid = images
        model = LovaszHingeClassifier(warm_start=True).fit(X, y, qid=qid)
        before = model.objective_
        assert model.fit(X, y, qid=qid).objective_ <= before * (1.0 + 1e-12)

    def test_several_jobs_with_data_that_joblib_maps(self):
        """Arrays above a megabyte reach workers read-only."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((30_000, 6))
        y = np.argmax(X[:, :3] + 0.3 * rng.standard_normal((30_000, 3)), axis=1)
        models = [LovaszHingeClassifier(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2)]
        assert_allclose(models[1].coef_, models[0].coef_)
        assert 0.5 < models[0].score(X, y) < 1.0

    def test_scores_of_constant_predictions(self):
        """No rounding brings a score below 0 or above 1."""
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((5000, 2)), (rng.random(5000) < 0.3).astype(int)
        model = LovaszHingeClassifier(loss="hamming").fit(X, y).set_params(loss="jaccard")
        model.coef_[:], model.intercept_[:] = 0.0, -1.0
        assert model.score(X, y) == 0.0
        model.intercept_[:] = 1.0
        assert model.score(X, y) == pytest.approx(y.mean(), rel=1e-14)

    def test_pickle_clone_and_parameters(self, multilabel):
        X, Y = multilabel
        model = LovaszHingeClassifier(loss=CappedWeighted(cap=2.0))
        model.set_params(loss__cap=1.5)
        copy = pickle.loads(pickle.dumps(clone(model).fit(X, Y)))
        assert copy.loss.cap == 1.5
        assert_allclose(copy.coef_, model.fit(X, Y).coef_)


class TestInScikitLearn:
    def test_search(self, multilabel):
        X, Y = multilabel
        search = GridSearchCV(
            make_pipeline(StandardScaler(), LovaszHingeClassifier()),
            {
                "lovaszhingeclassifier__C": [1, 100],
                "lovaszhingeclassifier__loss": ["jaccard", "hamming"],
            },
            scoring="jaccard_samples",
            cv=3,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn, on rows without labels
            search.fit(X, Y)
        assert search.best_score_ > 0.4

    def test_search_with_queries(self, images):
        X, y, qid = images
        with config_context(enable_metadata_routing=True):
            search = GridSearchCV(
                make_pipeline(StandardScaler(), LovaszHingeClassifier()),
                {"lovaszhingeclassifier__C": [1, 10, 100]},
                cv=GroupKFold(3).set_split_request(groups="qid"),
            ).fit(X, y, qid=qid)
            expected = np.mean(
                [
                    LovaszHingeClassifier(C=search.best_params_["lovaszhingeclassifier__C"])
                    .fit(scaler.transform(X[train]), y[train], qid=qid[train])
                    .score(scaler.transform(X[test]), y[test], qid=qid[test])
                    for train, test in GroupKFold(3).split(X, y, qid)
                    for scaler in [StandardScaler().fit(X[train])]
                ]
            )
            assert search.best_score_ == pytest.approx(expected)
            results = cross_validate(
                LovaszHingeClassifier(),
                X,
                y,
                params={"qid": qid},
                cv=GroupKFold(3).set_split_request(groups="qid"),
            )
            assert np.all(results["test_score"] > 0.3)

    def test_chain(self, multilabel):
        X, Y = multilabel
        chain = ClassifierChain(LovaszHingeClassifier(), random_state=0).fit(X, Y)
        assert chain.predict(X).shape == Y.shape

    def test_weights_of_sets_in_score(self, multilabel):
        X, Y = multilabel
        model = LovaszHingeClassifier().fit(X, Y)
        weight = np.random.default_rng(0).integers(0, 3, size=len(Y))
        repeated = np.repeat(np.arange(len(Y)), weight)
        assert model.score(X, Y, weight) == pytest.approx(model.score(X[repeated], Y[repeated]))


class TestSurrogates:
    @pytest.mark.parametrize("surrogate", ["margin", "slack"])
    def test_greedy_reports_no_gap(self, images, surrogate):
        X, y, qid = images
        model = LovaszHingeClassifier(C=1e4, surrogate=surrogate, max_iter=2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, qid=qid)
        messages = [str(w.message) for w in caught if w.category is ConvergenceWarning]
        assert any("finds mistakes greedily" in message for message in messages)
        assert not any("gap is" in message for message in messages)
        assert np.isnan(model.dual_gap_)
        assert model.converged_ is False

    def test_greedy_for_several_classes(self):
        X, y = load_iris(return_X_y=True)
        with pytest.warns(ConvergenceWarning, match="more than 16 elements"):
            model = LovaszHingeClassifier(surrogate="slack", max_iter=50).fit(X, y)
        assert np.isnan(model.dual_gap_).all()
        assert not model.converged_.any()

    @pytest.mark.parametrize("surrogate", ["margin", "slack"])
    def test_exact_up_to_16_elements(self, surrogate):
        X, y = make_early_detection(30, n_elements=16, random_state=0)
        model = LovaszHingeClassifier(C=1, surrogate=surrogate).fit(X, y)
        assert model.converged_ is True

    def test_zero_weights_of_one_class_are_announced(self):
        X, y = load_iris(return_X_y=True)
        with pytest.warns(UserWarning, match=r"nearly so, for class 1 for the bound"):
            LovaszHingeClassifier(C=10).fit(X, y)

    def test_zero_weights_are_announced(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((200, 2)), rng.random(200) < 0.5
        with pytest.warns(UserWarning, match="Zero weights are as good as any"):
            LovaszHingeClassifier().fit(X, y)


class TestErrors:
    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            ({"loss": "dice"}, ValueError, "Unknown loss 'dice'. Choose one of jaccard, hamming"),
            ({"loss": Jaccard}, TypeError, r"Jaccard\(\)"),
            ({"loss": 3}, TypeError, "name of a set loss"),
            ({"loss": CappedWeighted(cap=-1)}, ValueError, "cap=-1"),
            ({"surrogate": "hinge"}, ValueError, "Unknown surrogate 'hinge'"),
            ({"C": 0}, ValueError, "C=0"),
            ({"fit_intercept": "yes"}, TypeError, "fit_intercept must be True or False"),
            ({"qp_solver": "magic"}, ValueError, "magic"),
            ({"n_jobs": 0}, ValueError, "n_jobs=0"),
        ],
    )
    def test_parameters(self, multilabel, parameters, error, message):
        with pytest.raises(error, match=message):
            LovaszHingeClassifier(**parameters).fit(*multilabel)

    def test_queries_of_rows_that_are_sets(self, multilabel):
        X, Y = multilabel
        with pytest.raises(ValueError, match="each of its rows is a set already"):
            LovaszHingeClassifier().fit(X, Y, qid=np.arange(len(Y)))
        with pytest.raises(ValueError, match="each of its rows is a set already"):
            LovaszHingeClassifier().fit(X, Y).score(X, Y, qid=np.arange(len(Y)))

    def test_losses_that_need_columns(self, images):
        X, y, qid = images
        with pytest.raises(ValueError, match="columns of a two-dimensional y"):
            LovaszHingeClassifier(loss="early_detection").fit(X, y, qid=qid)
        loss = CappedWeighted([1.0, 2.0])
        with pytest.raises(ValueError, match="y has one dimension"):
            LovaszHingeClassifier(loss=loss).fit(X, y)

    def test_labels(self, multilabel):
        X, Y = multilabel
        with pytest.raises(ValueError, match="y holds one class only"):
            LovaszHingeClassifier().fit(X, np.ones(len(Y)))
        with pytest.raises(ValueError, match="multioutput"):
            LovaszHingeClassifier().fit(X, Y * np.arange(5))
        with pytest.raises(ValueError, match="1 for rows that have a label"):
            LovaszHingeClassifier().fit(X, 2 * Y - 1)
        model = LovaszHingeClassifier().fit(X, Y)
        with pytest.raises(ValueError, match="indicator of 5 columns"):
            model.score(X, Y[:, :3])
        model = LovaszHingeClassifier().fit(X, Y[:, 0])
        with pytest.raises(ValueError, match="labels that fit did not see"):
            model.score(X, Y[:, 0] + 1)
        with pytest.raises(ValueError, match="no weights of single rows"):
            model.score(X, Y[:, 0], np.ones(len(Y)))

    def test_weights_in_score(self, multilabel):
        X, Y = multilabel
        model = LovaszHingeClassifier().fit(X, Y)
        for weight in (np.zeros(len(Y)), -np.ones(len(Y))):
            with pytest.raises(ValueError, match="weights of at least 0"):
                model.score(X, Y, weight)

    def test_three_dimensions(self, multilabel):
        X, y = make_early_detection(10, random_state=0)
        with pytest.raises(
            ValueError, match=r"10 sets of 15 elements, but y has the shape \(10,\)"
        ):
            LovaszHingeClassifier().fit(X, y[:, 0])
        with pytest.raises(ValueError, match="each of its rows is a set already"):
            LovaszHingeClassifier().fit(X, y, qid=np.arange(10))
        model = LovaszHingeClassifier().fit(X, y)
        with pytest.raises(ValueError, match="X had three dimensions in fit, but has two now"):
            model.predict(X[0])
        with pytest.raises(ValueError, match="5 features"):
            model.predict(np.zeros((2, 3, 5)))
        with pytest.raises(ValueError, match="X had two dimensions in fit, but has three now"):
            LovaszHingeClassifier().fit(*multilabel).predict(X)

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            LovaszHingeClassifier().predict([[1.0]])


def test_own_function_as_loss(multilabel):
    """A plain function, without wrapping it."""
    X, Y = multilabel

    def root(mispredicted, y_true):
        return np.sqrt(mispredicted.mean())

    model = LovaszHingeClassifier(C=100, loss=root).fit(X, Y)
    predicted = model.predict(X)
    expected = 1.0 - np.mean(np.sqrt((predicted != Y).mean(axis=1)))
    assert model.score(X, Y) == pytest.approx(expected)

    def falls_in_the_end(mispredicted, y_true):
        share = mispredicted.mean()
        return share * (1.6 - share)

    falls_in_the_end.increasing = False
    model = LovaszHingeClassifier(C=100, loss=falls_in_the_end).fit(X, Y)
    assert model.score(X, Y) > 0.7


def test_made_up_sequences():
    X, y = make_early_detection(500, random_state=0)
    again, _ = make_early_detection(500, random_state=0)
    assert_array_equal(X, again)
    assert y.mean() == pytest.approx(0.5, abs=0.02)
    early, late = X[:, :5][y[:, :5] == 1], X[:, 5:][y[:, 5:] == 1]
    assert_allclose(early.mean(axis=0), [2.0, 0.0], atol=0.1)
    assert_allclose(late.mean(axis=0), [-1.0, 2.0], atol=0.1)
    assert_allclose(X[y == 0].mean(axis=0), [0.0, 0.0], atol=0.1)
    with pytest.raises(ValueError, match="n_early=20"):
        make_early_detection(10, n_early=20)


def test_early_detection_has_the_lowest_loss_of_its_own():
    """A small form of the experiment: all three surrogates, and the mean of hinge losses."""
    loss = EarlyDetection()
    X, y = make_early_detection(200, random_state=0)
    X_test, y_test = make_early_detection(1000, random_state=1)
    losses = {}
    for name, options in {
        "L": {"loss": loss},
        "0-1": {"loss": "hamming"},
        "S": {"loss": loss, "surrogate": "slack"},
        "M": {"loss": loss, "surrogate": "margin"},
    }.items():
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Zero weights")
            model = LovaszHingeClassifier(C=100, **options).fit(X, y)
        losses[name] = loss.loss_of_each_set(y_test > 0, model.predict(X_test) > 0)
    for other in ("0-1", "S", "M"):
        difference = losses[other] - losses["L"]
        assert difference.mean() > 5.0 * difference.std() / np.sqrt(difference.size)
