"""A warm-started active-set method for the dual quadratic programme of a plane set.

    minimise 1/2 a'Ga - b'a   subject to   a >= 0,  sum of a over the capped planes = total

The working set holds the planes with a > 0, in the order ``work``, and the Cholesky factor of
G + sigma cc' on them, where c is the indicator of the capped planes. Since c'a is fixed, sigma
changes nothing but the conditioning; a floor under the diagonal of the factor keeps planes that
depend on each other apart. One pivot adds or drops one plane and costs O(m^2).
"""

from __future__ import annotations

import numpy as np

from skrank._jit import jit

FLOOR = 1e-12
MAX_REFINEMENTS = 2


@jit(reorder=True)
def append(gram, capped, sigma, work, size, factor, k):
    """Put plane k at the end of the working set."""
    for i in range(size):
        row = work[i]
        value = gram[row, k] + sigma * capped[row] * capped[k]
        for t in range(i):
            value -= factor[i, t] * factor[size, t]
        factor[size, i] = value / factor[i, i]
    value = gram[k, k] + sigma * capped[k]
    floor = FLOOR * value
    for t in range(size):
        value -= factor[size, t] ** 2
    factor[size, size] = np.sqrt(max(value, floor))
    work[size] = k
    return size + 1


@jit(reorder=True)
def drop(work, size, factor, position):
    """Take the plane at ``position`` out of the working set, by Givens rotations."""
    for i in range(position, size - 1):
        work[i] = work[i + 1]
        for t in range(i + 2):
            factor[i, t] = factor[i + 1, t]
    size -= 1
    for i in range(position, size):
        x, y = factor[i, i], factor[i, i + 1]
        norm = np.hypot(x, y)
        cos, sin = x / norm, y / norm
        factor[i, i] = norm
        for row in range(i + 1, size):
            x, y = factor[row, i], factor[row, i + 1]
            factor[row, i] = cos * x + sin * y
            factor[row, i + 1] = cos * y - sin * x
    return size


@jit(reorder=True)
def solve(factor, size, rhs):
    """Overwrite rhs with the solution of (L L') x = rhs."""
    for i in range(size):
        value = rhs[i]
        for t in range(i):
            value -= factor[i, t] * rhs[t]
        rhs[i] = value / factor[i, i]
    for i in range(size - 1, -1, -1):
        rhs[i] /= factor[i, i]
        value = rhs[i]
        for t in range(i):
            rhs[t] -= factor[i, t] * value


@jit(reorder=True)
def factorise(gram, capped, sigma, work, size, factor):
    """Compute the factor of the working set anew."""
    for i in range(size):
        append(gram, capped, sigma, work, i, factor, work[i])


@jit(reorder=True)
def multiplier(gram, b, capped, a, work, size, slack):
    """Fill slack = b - Ga; returns the price of the total, its weighted mean over capped planes."""
    for k in range(b.size):
        slack[k] = b[k]
    for i in range(size):
        weight = a[work[i]]
        row = gram[work[i]]
        for k in range(b.size):
            slack[k] -= weight * row[k]
    price = 0.0
    weight = 0.0
    for i in range(size):
        k = work[i]
        price += capped[k] * a[k] * slack[k]
        weight += capped[k] * a[k]
    return price / weight


@jit(reorder=True)
def residual(capped, price, slack, work, size):
    """The largest |b - Ga - price c| in the working set, where it should be zero."""
    largest = 0.0
    for i in range(size):
        largest = max(largest, abs(slack[work[i]] - price * capped[work[i]]))
    return largest


@jit(reorder=True)
def refine(capped, total, price, slack, ones, sum_ones, a, work, size, factor):
    """Correct ``a`` by a solution for the residual, unless that makes a weight negative."""
    change = np.empty(size)
    for i in range(size):
        change[i] = slack[work[i]] - price * capped[work[i]]
    solve(factor, size, change)
    rest = total
    for i in range(size):
        rest -= capped[work[i]] * (a[work[i]] + change[i])
    for i in range(size):
        change[i] += rest / sum_ones * ones[i]
        if a[work[i]] + change[i] <= 0.0:
            return
    for i in range(size):
        a[work[i]] += change[i]


@jit(reorder=True)
def pivots(gram, b, capped, total, tol, sigma, a, work, size, factor, max_pivots):
    """Improve the feasible ``a`` in place, by pivots, until no plane is violated by more than tol.

    Returns the size of the working set, the number of pivots and the largest violation of the
    optimality conditions: of b_k - (Ga)_k - price <= 0 outside the working set, = 0 inside.
    """
    m = b.size
    inside = np.zeros(m, np.bool_)
    for i in range(size):
        inside[work[i]] = True
    target = np.empty(m)
    ones = np.empty(m)
    slack = np.empty(m)
    entered = -1
    n_pivots = 0
    while n_pivots < max_pivots:
        n_pivots += 1
        for i in range(size):
            target[i] = b[work[i]]
            ones[i] = capped[work[i]]
        solve(factor, size, target)
        solve(factor, size, ones)
        sum_target = 0.0
        sum_ones = 0.0
        for i in range(size):
            sum_target += capped[work[i]] * target[i]
            sum_ones += capped[work[i]] * ones[i]
        price = (total - sum_target) / sum_ones
        length = 1.0
        blocking = -1
        for i in range(size):
            target[i] += price * ones[i]
            current = a[work[i]]
            if target[i] <= 0.0 and current <= length * (current - target[i]):
                length = current / (current - target[i]) if current > 0.0 else 0.0
                blocking = i
        for i in range(size):
            k = work[i]
            a[k] += length * (target[i] - a[k])
        if blocking >= 0:
            k = work[blocking]
            a[k] = 0.0
            inside[k] = False
            size = drop(work, size, factor, blocking)
            if k == entered and length == 0.0:
                break  # it looked worth entering through rounding alone
            continue
        price = multiplier(gram, b, capped, a, work, size, slack)
        for _ in range(MAX_REFINEMENTS):
            if residual(capped, price, slack, work, size) <= tol:
                break
            refine(capped, total, price, slack, ones, sum_ones, a, work, size, factor)
            price = multiplier(gram, b, capped, a, work, size, slack)
        worst = tol
        entered = -1
        for k in range(m):
            if not inside[k] and slack[k] - capped[k] * price > worst:
                worst = slack[k] - capped[k] * price
                entered = k
        if entered < 0:
            break
        size = append(gram, capped, sigma, work, size, factor, entered)
        inside[entered] = True
    price = multiplier(gram, b, capped, a, work, size, slack)
    violation = 0.0
    for k in range(m):
        excess = slack[k] - capped[k] * price
        violation = max(violation, abs(excess) if inside[k] else excess)
    return size, n_pivots, violation
