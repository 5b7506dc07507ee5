"""Measurements: quality against labels, speed and memory as ratios within one run."""
