"""`quality status` in any format: one screen, a page, and a page per item (specification 2)."""
