"""The compiler's wrapper."""

import numba
import pytest

from skrank._jit import jit


def double(x):
    return 2 * x


def test_options():
    assert jit(double)(3) == 6
    assert jit(reorder=True)(double)(1.5) == 3.0


def test_compiles_without_a_cache_where_none_can_be_written(monkeypatch):
    njit = numba.njit

    def without_cache(cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function 'double': no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", without_cache)
    assert jit(double)(3) == 6


def test_other_errors_are_passed_on(monkeypatch):
    def broken(**options):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", broken)
    with pytest.raises(RuntimeError, match="something else"):
        jit(double)
