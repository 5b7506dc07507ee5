"""The verbs about evaluations: run one, see and gate stored ones, propose samples. Begin with `eval.py`."""
