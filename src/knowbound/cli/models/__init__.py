"""The verbs about models and judges: see and allow a model, measure judges, label by hand."""
