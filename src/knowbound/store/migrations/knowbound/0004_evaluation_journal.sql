-- Stores made by the first form of 0003 have no column `journal` in `evaluation`; others have it already. Either way the
-- table is as 0003 says now. `journal` is that of the row where there is one, and else the 0 of `missing`: a name is
-- looked for in the inner query first.
CREATE TABLE evaluation_new (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    made     TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    origin   TEXT NOT NULL,
    against  TEXT NOT NULL,
    journal  INTEGER NOT NULL,
    report   BLOB NOT NULL
);
INSERT INTO evaluation_new
    SELECT kept.id, made, sha256, origin, against,
           (SELECT journal FROM evaluation AS own WHERE own.id = kept.id), report
    FROM evaluation AS kept, (SELECT 0 AS journal) AS missing;
-- Numbers that were given once are not given again.
DELETE FROM sqlite_sequence WHERE name = 'evaluation_new';
INSERT INTO sqlite_sequence (name, seq) SELECT 'evaluation_new', seq FROM sqlite_sequence WHERE name = 'evaluation';
DROP TABLE evaluation;
ALTER TABLE evaluation_new RENAME TO evaluation;
CREATE INDEX evaluation_set ON evaluation (sha256, origin, against);
