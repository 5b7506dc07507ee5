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

-- What was stored.
DELETE FROM store;
INSERT INTO item (seq, id, copy_of, record) VALUES (1, 'k3eidft6khni', '', '{"id":"k3eidft6khni","content":"The orders service listens on port 8080 behind the internal gateway.","timestamp":"2026-11-16T08:38:31Z","confidence":1.0}');
INSERT INTO item (seq, id, copy_of, record) VALUES (4, 'kefymuzb53bf', '', '{"id":"kefymuzb53bf","content":"Failed payment webhooks are retried five times.","timestamp":"2026-11-16T08:38:35Z","confidence":1.0,"relationships":[{"kind":"supersedes","target":"k7uj4cbcbhqk"}]}');
INSERT INTO item (seq, id, copy_of, record) VALUES (5, 'k7uj4cbcbhqk', '', '{"id":"k7uj4cbcbhqk","content":"Failed payment webhooks are retried three times.","timestamp":"2026-11-16T08:38:32Z","confidence":1.0,"flag":{"kind":"SUPERSEDED","date":"2026-11-16T08:38:36Z","by":"root","superseded_by":"kefymuzb53bf"}}');
INSERT INTO item (seq, id, copy_of, record) VALUES (6, 'kp7i7cjy4fdd', '', '{"id":"kp7i7cjy4fdd","content":"Sessions are kept for 30 days.","timestamp":"2026-11-16T08:38:33Z","confidence":1.0,"flag":{"kind":"DELETED","date":"2026-11-16T08:38:37Z","by":"root"}}');
INSERT INTO store (name) VALUES ('c1cff6b0ea17444e');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('item', 6);
PRAGMA user_version = 1;
