"""The verbs about evaluations: run one, compare two, see the trend, find what to ask."""
