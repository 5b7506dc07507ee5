-- The embedded backend of record (.knowbound/items.db). `seq` grows with every write, so that a reader can ask what
-- changed since; AUTOINCREMENT never gives a number twice.

CREATE TABLE item (
    seq     INTEGER PRIMARY KEY AUTOINCREMENT,
    id      TEXT NOT NULL UNIQUE,
    copy_of TEXT NOT NULL,
    record  TEXT NOT NULL  -- the whole Item as JSON
);
CREATE INDEX item_copy ON item (copy_of) WHERE copy_of <> '';

CREATE TABLE store (name TEXT NOT NULL);  -- one row: tells this file from another in stamps
INSERT INTO store VALUES (lower(hex(randomblob(8))));
