"""Average precision of APSVC, LinearSVC and LogisticRegression on a rare, noisy digit.

The task is to find the eights among handwritten digits under heavy noise. Every model gets
its C from the same grid search; the test half is not seen before the end. The precision-recall
curves are saved as quickstart.png in the current folder.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import PrecisionRecallDisplay, average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skrank import APSVC

MODELS = {
    "APSVC": (APSVC(), np.logspace(0, 4, 5)),
    "LinearSVC": (LinearSVC(), np.logspace(-4, 0, 5)),
    "LogisticRegression": (LogisticRegression(max_iter=1000), np.logspace(-3, 1, 5)),
}


def load_data():
    """Noisy digits, eight against the rest, split into a training and a test half."""
    X, digit = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=6.0, size=X.shape)
    return train_test_split(X, digit == 8, test_size=0.5, stratify=digit == 8, random_state=0)


def main():
    X_train, X_test, y_train, y_test = load_data()
    print(f"{len(y_train)} training rows, {np.count_nonzero(y_train)} of them positive")
    print(f"{'model':<20}{'C':>8}{'test average precision':>25}")

    figure = Figure(figsize=(5.5, 5.5), layout="constrained")
    axes = figure.subplots()
    for name, (estimator, grid) in MODELS.items():
        search = GridSearchCV(
            make_pipeline(StandardScaler(), estimator),
            {f"{name.lower()}__C": grid},
            scoring="average_precision",
        ).fit(X_train, y_train)
        scores = search.decision_function(X_test)
        (C,) = search.best_params_.values()
        print(f"{name:<20}{C:>8g}{average_precision_score(y_test, scores):>25.3f}")
        PrecisionRecallDisplay.from_predictions(y_test, scores, name=name, ax=axes)

    axes.set(title="An eight or not? Noisy digits, test half", xlabel="Recall", ylabel="Precision")
    axes.legend(loc="lower left")
    figure.savefig("quickstart.png", dpi=150)
    print("saved quickstart.png")


if __name__ == "__main__":
    main()
