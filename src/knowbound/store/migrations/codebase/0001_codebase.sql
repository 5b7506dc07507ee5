-- The index of source trees (codebase/kept_index): names, no text. It can be made again at any time.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tree (
    id INTEGER PRIMARY KEY,
    root TEXT NOT NULL UNIQUE,
    updated REAL NOT NULL DEFAULT 0,  -- seconds since the epoch, when the last update began; 0: not complete yet
    folders TEXT NOT NULL DEFAULT ''  -- JSON: folder → time of modification in ns
);
CREATE TABLE content (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE);
CREATE TABLE file (
    tree INTEGER NOT NULL REFERENCES tree (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content INTEGER,  -- NULL: not read (binary, too large, a place for secrets)
    PRIMARY KEY (tree, path)
) WITHOUT ROWID;
CREATE INDEX file_content ON file (content);
-- plain: lower-cased, without what spellings differ in
CREATE TABLE definition (
    plain TEXT NOT NULL, name TEXT NOT NULL, content INTEGER NOT NULL, line INTEGER NOT NULL, kind TEXT NOT NULL
);
CREATE INDEX definition_plain ON definition (plain);
CREATE INDEX definition_content ON definition (content);
-- Which contents have which words. Rows cannot be removed: contents that no file has any more are passed by.
CREATE VIRTUAL TABLE word USING fts5(
    words, content = '', columnsize = 0, detail = 'none', tokenize = "unicode61 remove_diacritics 0 tokenchars '_$'"
);
CREATE VIRTUAL TABLE word_list USING fts5vocab('word', 'row');
-- All words, one a line: what a part of a word is looked up in.
CREATE TABLE vocabulary (id INTEGER PRIMARY KEY CHECK (id = 1), words TEXT NOT NULL);
