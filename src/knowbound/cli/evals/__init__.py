"""The verbs about evaluations, and about the models and judges that they use: run, compare, measure, label by hand."""
