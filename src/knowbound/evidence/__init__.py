"""Lens 3: answers that rest on evidence, or what evidence is missing for one (specification 3).

It reads one tree and its history, and builds or tests a copy only where that was allowed. Start at `investigate.py`:
`plan.py` reads the question, `planner.py` decides sufficiency, `producers/` collect, `understanding.py` asks a model.
"""

from knowbound.evidence.investigate import investigate

__all__ = ["investigate"]
