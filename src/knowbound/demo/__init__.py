"""Traces and a knowledge base written for the demo: an invented order platform, two weeks of agents' work.

`bench/make_demo.py` writes the traces; nothing in them comes from a real session.
"""

from __future__ import annotations

from pathlib import Path

TRACES = Path(__file__).parent / "traces"
PROJECT = Path(__file__).parent / "project"  # the knowledge base that the agents worked with
STUDIO = Path(__file__).parent / "studio"  # files over that project for the studio: code, and lines that are wrong
