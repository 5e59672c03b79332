"""Average precision of APSVC, LinearSVC and LogisticRegression on ten imbalanced tasks.

Each task is to find one of the handwritten digits among all ten, so one row in ten is positive.
Every model gets its C from the same grid search on the training half, and the test half is not
seen before the end. The precision-recall curves of one digit are saved as quickstart.png in the
current folder.
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
    "APSVC": (APSVC(), np.logspace(-1, 3, 5)),
    "LinearSVC": (LinearSVC(max_iter=10_000), np.logspace(-4, 0, 5)),
    "LogisticRegression": (LogisticRegression(max_iter=1000), np.logspace(-3, 1, 5)),
}
DRAWN = 8


def score_test_rows(estimator, grid, X_train, y_train, X_test):
    """Scores of the test rows, with C chosen by cross-validation on the training rows."""
    model = make_pipeline(StandardScaler(), estimator)
    grid = {f"{model.steps[-1][0]}__C": grid}
    search = GridSearchCV(model, grid, scoring="average_precision", cv=3)
    return search.fit(X_train, y_train).decision_function(X_test)


def main():
    X, digits = load_digits(return_X_y=True)
    X_train, X_test, train, test = train_test_split(
        X, digits, test_size=0.5, stratify=digits, random_state=0
    )
    print(f"Test average precision, {len(train)} training rows\n")
    print("digit", *(f"{name:>20}" for name in MODELS))

    figure = Figure(figsize=(5.5, 5.5), layout="constrained")
    axes = figure.subplots()
    table = np.empty((10, len(MODELS)))
    for digit in range(10):
        for column, (name, (estimator, grid)) in enumerate(MODELS.items()):
            scores = score_test_rows(estimator, grid, X_train, train == digit, X_test)
            table[digit, column] = average_precision_score(test == digit, scores)
            if digit == DRAWN:
                PrecisionRecallDisplay.from_predictions(test == digit, scores, name=name, ax=axes)
        print(f"{digit:>5}", *(f"{value:>20.3f}" for value in table[digit]), flush=True)
    print(" mean", *(f"{value:>20.3f}" for value in table.mean(axis=0)))

    axes.set(title=f"Finding the digit {DRAWN}, test half", xlabel="Recall", ylabel="Precision")
    axes.legend(loc="lower left")
    figure.savefig("quickstart.png", dpi=150)
    print(f"\nThe curves of digit {DRAWN} are in quickstart.png")


if __name__ == "__main__":
    main()
