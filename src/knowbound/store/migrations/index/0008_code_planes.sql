-- The codes of served items a second time, packed bit by bit (kms/index/codes.py): row / 16384 is the chunk. Rows that
-- changed since their chunk was packed are in `code_pending` with their code, or without one if they are not served.
DROP TRIGGER IF EXISTS code_added;
DROP TRIGGER IF EXISTS code_removed;
DROP TRIGGER IF EXISTS code_changed;
DROP TABLE IF EXISTS code_chunk;
DROP TABLE IF EXISTS code_pending;
CREATE TABLE code_chunk (chunk INTEGER PRIMARY KEY, planes BLOB NOT NULL);
CREATE TABLE code_pending (row INTEGER PRIMARY KEY, code BLOB);
CREATE TRIGGER code_added AFTER INSERT ON item BEGIN
    DELETE FROM code_pending WHERE row = new.rowid;
    INSERT INTO code_pending VALUES (new.rowid, CASE WHEN new.served THEN new.code END);
END;
CREATE TRIGGER code_removed AFTER DELETE ON item BEGIN
    DELETE FROM code_pending WHERE row = old.rowid;
    INSERT INTO code_pending VALUES (old.rowid, NULL);
END;
CREATE TRIGGER code_changed AFTER UPDATE OF code, served ON item
WHEN new.code IS NOT old.code OR new.served IS NOT old.served BEGIN
    DELETE FROM code_pending WHERE row = new.rowid;
    INSERT INTO code_pending VALUES (new.rowid, CASE WHEN new.served THEN new.code END);
END;
CREATE INDEX IF NOT EXISTS item_kept_back ON item (served) WHERE served = 0;
INSERT INTO code_pending SELECT rowid, CASE WHEN served THEN code END FROM item;
