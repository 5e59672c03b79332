"""Interleavings by dynamic programming, for any loss; notation as in ``_interleaving``."""

from __future__ import annotations

import numpy as np

from skrank._jit import jit
from skrank.kernels._interleaving import step


@jit
def count_by_programme(reach, loss, pos, neg, margin, above):
    """n_i that maximise the sum of g_i(n_i) subject to n_1 <= ... <= n_P; negatives ascending.

    g_i(n) = sum of gain_j(i) over j <= n. With best_i(n) the maximum over n_1 <= ... <= n_i <= n,
    best_i(n) = max(best_i(n - 1), best_{i-1}(n) + g_i(n)); one bit for each (i, n) says which.

    Steps past J = ``reach`` are zero, so that from there on g_i falls but for negatives that score
    above the i-th positive: #(j : neg_j > pos_i), which grows with i, is best among the n_i >= J,
    and one column stands for all of these.
    """
    n_pos, n_neg = pos.size, neg.size
    n_columns = min(reach, n_neg)
    taken = np.zeros((n_pos, n_columns // 8 + 1), np.uint8)
    best = np.zeros(n_columns + 1)
    higher = n_columns
    rest = 0.0  # sum of neg_j - centre over the j past J that score above the positive
    centre = neg[n_neg - n_columns - 1] if n_columns < n_neg else 0.0
    for i in range(1, n_pos + 1):
        score = pos[i - 1]
        total = 0.0
        running = 0.0
        bits = taken[i - 1]
        for n in range(1, n_columns + 1):
            total += step(loss, n, i) - margin * (score - neg[n_neg - n])
            value = total
            if n == n_columns:
                while higher < n_neg and neg[n_neg - higher - 1] > score:
                    rest += neg[n_neg - higher - 1] - centre
                    higher += 1
                value += margin * (rest - (higher - n_columns) * (score - centre))
            if value + best[n] > running:
                running = value + best[n]
                bits[n >> 3] |= np.uint8(1 << (n & 7))
            best[n] = running
    n = n_columns
    higher = n_neg
    for i in range(n_pos, 0, -1):
        while n > 0 and not (taken[i - 1, n >> 3] >> (n & 7)) & 1:
            n -= 1
        above[i - 1] = n
        if n == n_columns:
            while higher > n and not neg[n_neg - higher] > pos[i - 1]:
                higher -= 1
            above[i - 1] = higher
