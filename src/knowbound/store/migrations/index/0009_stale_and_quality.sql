-- Pages of items that are stale or silenced, and the items whose quality was measured, without reading every row.
CREATE INDEX IF NOT EXISTS item_stale ON item (stale) WHERE stale = 1;
CREATE INDEX IF NOT EXISTS item_quality ON item (quality) WHERE quality <> 1.0;
