"""Import of files, and of exports of other memories."""
