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
def solve_two(factor, size, x, y):
    """Overwrite x and y with the solutions of (L L') z = x and of (L L') z = y."""
    for i in range(size):
        value_x = 0.0
        value_y = 0.0
        for t in range(i):
            value_x += factor[i, t] * x[t]
            value_y += factor[i, t] * y[t]
        x[i] = (x[i] - value_x) / factor[i, i]
        y[i] = (y[i] - value_y) / factor[i, i]
    for i in range(size - 1, -1, -1):
        x[i] /= factor[i, i]
        y[i] /= factor[i, i]
        value_x = x[i]
        value_y = y[i]
        for t in range(i):
            x[t] -= factor[i, t] * value_x
            y[t] -= factor[i, t] * value_y


@jit(reorder=True)
def factorise(gram, capped, sigma, work, size, factor):
    """Compute the factor of the working set anew."""
    for i in range(size):
        append(gram, capped, sigma, work, i, factor, work[i])


@jit(reorder=True)
def slacks(normals, gram, exact, b, a, work, size, slack):
    """Fill slack = b - Ga; ``exact``: as b + p_k'w with w = -sum of a_k p_k.

    The planes' weighted normals nearly cancel where features are large, and products of them lose
    twice as many digits as their sum does.
    """
    if exact:
        w = np.zeros(normals.shape[1])
        for i in range(size):
            weight = a[work[i]]
            row = normals[work[i]]
            for t in range(w.size):
                w[t] -= weight * row[t]
        for k in range(b.size):
            row = normals[k]
            value = 0.0
            for t in range(w.size):
                value += row[t] * w[t]
            slack[k] = b[k] + value
        return
    for k in range(b.size):
        slack[k] = b[k]
    for i in range(size):
        weight = a[work[i]]
        row = gram[work[i]]
        for k in range(b.size):
            slack[k] -= weight * row[k]


@jit(reorder=True)
def price_of_total(capped, a, work, size, slack):
    """What the slacks of the capped planes in the working set have in common: their mean."""
    price = 0.0
    weight = 0.0
    for i in range(size):
        k = work[i]
        price += capped[k] * a[k] * slack[k]
        weight += capped[k] * a[k]
    return price / weight


@jit(reorder=True)
def newton_step(capped, total, a, work, size, factor, slack, change):
    """The change of a that levels the slacks of the working set and keeps the total.

    Solving for the change instead of for ``a`` keeps all digits where the total, or the slacks,
    are large against what is to be found; a second step refines the first.
    """
    price = price_of_total(capped, a, work, size, slack)
    ones = np.empty(size)
    rest = total
    for i in range(size):
        k = work[i]
        change[i] = slack[k] - price * capped[k]
        ones[i] = capped[k]
        rest -= capped[k] * a[k]
    solve_two(factor, size, change, ones)
    sum_ones = 0.0
    for i in range(size):
        rest -= capped[work[i]] * change[i]
        sum_ones += capped[work[i]] * ones[i]
    for i in range(size):
        change[i] += rest / sum_ones * ones[i]


@jit(reorder=True)
def pivots(normals, gram, exact, b, capped, total, tol, a, work, size, factor, sigma, max_pivots):
    """Improve the feasible ``a`` in place, by pivots, until no plane is violated by more than tol.

    Returns the size of the working set and the largest violation of the optimality conditions:
    of b_k - (Ga)_k - price <= 0 outside the working set, = 0 inside.
    """
    m = b.size
    inside = np.zeros(m, np.bool_)
    for i in range(size):
        inside[work[i]] = True
    slack = np.empty(m)
    change = np.empty(m)
    violation = np.inf
    entered = -1
    n_refined = 0
    slacks(normals, gram, exact, b, a, work, size, slack)
    for _ in range(max_pivots):
        newton_step(capped, total, a, work, size, factor, slack, change)
        length = 1.0
        blocking = -1
        for i in range(size):
            current = a[work[i]]
            if change[i] < 0.0 and current <= -length * change[i]:
                length = current / -change[i]
                blocking = i
        for i in range(size):
            a[work[i]] += length * change[i]
        if blocking >= 0:
            k = work[blocking]
            a[k] = 0.0
            inside[k] = False
            size = drop(work, size, factor, blocking)
            if size == 0 or (k == entered and length == 0.0):
                break  # it looked worth entering, or leaving, through rounding alone
            # a part of the way closes as large a part of the differences in the working set
            for i in range(size):
                slack[work[i]] *= 1.0 - length
            continue
        slacks(normals, gram, exact, b, a, work, size, slack)
        price = price_of_total(capped, a, work, size, slack)
        residual = 0.0
        worst = 0.0
        entered = -1
        for k in range(m):
            excess = slack[k] - price * capped[k]
            if inside[k]:
                residual = max(residual, abs(excess))
            elif excess > worst:
                worst = excess
                entered = k
        violation = max(worst, residual)
        if residual > tol and n_refined < MAX_REFINEMENTS:
            n_refined += 1
            continue
        n_refined = 0
        if entered < 0 or worst <= tol:
            break
        size = append(gram, capped, sigma, work, size, factor, entered)
        inside[entered] = True
    return size, violation


@jit
def is_current(a, work, size):
    """Whether the working set holds just the planes with a > 0."""
    n_positive = 0
    for k in range(a.size):
        n_positive += a[k] != 0.0
    for i in range(size):
        if a[work[i]] == 0.0:
            return False
    return n_positive == size


@jit
def rounding(normals, gram, exact, b, a):
    """What rounding alone may leave of a violation: some ulps of the terms of the slacks."""
    height = 0.0
    longest = 0.0
    total = 0.0
    for k in range(b.size):
        norm = np.sqrt(gram[k, k])
        height = max(height, abs(b[k]))
        longest = max(longest, norm)
        total += norm * a[k]
    if not exact:
        return 1e-14 * (height + longest * total)
    w = np.zeros(normals.shape[1])
    for k in range(b.size):
        if a[k] != 0.0:
            w += a[k] * normals[k]
    return 1e-14 * (height + longest * np.sqrt(np.sum(w**2))) + 1e-16 * longest * total


@jit
def refactorise(gram, b, capped, total, a, work, factor):
    """Make the working set the planes with a > 0; returns its size and sigma."""
    size = 0
    largest = 0.0
    height = 0.0
    for k in range(b.size):
        if a[k] != 0.0:
            work[size] = k
            size += 1
        largest = max(largest, gram[k, k])
        height = max(height, abs(b[k]))
    # next to b, sigma * total should not be large: it would cost digits
    sigma = max(1e-6 * largest, min(largest, height / total))
    if sigma == 0.0:
        sigma = height / total if height > 0.0 else 1.0
    factorise(gram, capped, sigma, work, size, factor)
    return size, sigma


@jit
def improve(normals, gram, b, capped, total, precision, a, work, size, factor, sigma, max_pivots):
    """Improve the feasible ``a`` in place until its objective is within ``precision``.

    Returns the size of the working set, sigma, and whether the optimality conditions hold, up to
    ``precision`` or to what rounding leaves of them.
    """
    asked = precision / total
    exact = rounding(normals, gram, False, b, a) > asked
    tol = max(asked, rounding(normals, gram, exact, b, a)) if exact else asked
    violation = np.inf
    for attempt in range(2):
        before, violation_before = a.copy(), violation
        if attempt > 0 or not is_current(a, work, size):
            size, sigma = refactorise(gram, b, capped, total, a, work, factor)
        size, violation = pivots(
            normals, gram, exact, b, capped, total, tol, a, work, size, factor, sigma, max_pivots
        )
        if violation <= 2.0 * tol:
            break
        if not np.isfinite(a.sum()):
            a[:] = before
            violation = violation_before
            size = 0
    left = rounding(normals, gram, exact, b, a)
    # weights that are not finite show in the rounding
    return size, sigma, left < np.inf and violation <= max(2.0 * asked, 10.0 * left)


@jit
def feasible(a, capped, total):
    """Clip and rescale weights so that a >= 0 and capped'a = total; zero weights stay zero."""
    a = np.maximum(a, 0.0)
    used = 0.0
    for k in range(1, a.size):
        used += capped[k] * a[k]
    if used >= total or (a[0] == 0.0 and used > 0.0):
        for k in range(a.size):
            if capped[k] > 0.0:
                a[k] *= total / used
        a[0] = 0.0
    else:
        a[0] = total - used
    return a


@jit
def settle(found, capped, total, a, idle):
    """Write the weights found, made feasible, to ``a``; count since when each plane has none.

    Returns the largest of these counts.
    """
    found = feasible(found, capped, total)
    longest = 0
    for k in range(a.size):
        a[k] = found[k]
        idle[k] = 0 if a[k] > 0.0 else idle[k] + 1
        longest = max(longest, idle[k])
    return longest
