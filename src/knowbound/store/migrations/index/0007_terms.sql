-- Items are found by their specific words (text/specific_words.py): stems, names, pairs of ideographs, and the numbers of
-- their terms in the thesaurus (`#12`), as knowbound splits them and not as SQLite does. Whoever opens the index to write
-- fills the column (kms/index/terms.py).
ALTER TABLE item ADD COLUMN terms TEXT NOT NULL DEFAULT '';
DROP TRIGGER item_added;
DROP TRIGGER item_removed;
DROP TRIGGER item_changed;
DROP TABLE item_text;
CREATE VIRTUAL TABLE item_text USING fts5 (
    terms, content='item', content_rowid='rowid', detail=none, columnsize=0,
    tokenize="unicode61 remove_diacritics 0 tokenchars '#_./-'"
);
INSERT INTO item_text (item_text) VALUES ('rebuild');
CREATE TRIGGER item_added AFTER INSERT ON item BEGIN
    INSERT INTO item_text (rowid, terms) VALUES (new.rowid, new.terms);
END;
CREATE TRIGGER item_removed AFTER DELETE ON item BEGIN
    INSERT INTO item_text (item_text, rowid, terms) VALUES ('delete', old.rowid, old.terms);
END;
CREATE TRIGGER item_changed AFTER UPDATE OF terms ON item BEGIN
    INSERT INTO item_text (item_text, rowid, terms) VALUES ('delete', old.rowid, old.terms);
    INSERT INTO item_text (rowid, terms) VALUES (new.rowid, new.terms);
END;
