"""Compiled kernels: arrays in, arrays out, one page each."""
