"""Noisy signals, and how well a filter follows them."""

import numpy as np


def make_signals():
    """Return pairs of a clean and a noisy signal."""
    generator = np.random.default_rng(5)
    time = np.linspace(0, 10, 400)
    clean = [
        np.sin(time) + 0.5 * np.sin(2.7 * time),
        np.where((time % 4) < 2, 1.0, -1.0),
        0.3 * time + np.sin(0.8 * time**1.5),
        np.cumsum(generator.normal(0, 0.08, time.size)),
    ]
    return [(signal, signal + generator.normal(0, 0.35, time.size)) for signal in clean]


def roughness(signal):
    """Return how often the slope changes its sign."""
    return float(np.mean(np.diff(np.sign(np.diff(signal))) != 0))
