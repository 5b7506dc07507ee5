-- Which line of a journal an injection came from: it counts once, however often the journal is read. Empty in rows that
-- are older than this column.
ALTER TABLE injected ADD COLUMN record TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX injected_record ON injected (record, rank) WHERE record <> '';
