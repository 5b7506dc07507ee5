-- What `eval` keeps: finished evaluations for trends and gates, unfinished ones for --resume, identical runs, and
-- the answers of models that judge.

-- One row per finished evaluation. Never pruned: a trend is made of them.
CREATE TABLE evaluation (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    made     TEXT NOT NULL,        -- UTC
    sha256   TEXT NOT NULL,        -- of the test set
    origin   TEXT NOT NULL,        -- written, probed
    against  TEXT NOT NULL,        -- the version that --against named, '' for the knowledge base itself
    journal  INTEGER NOT NULL,     -- the run it came from: where that goes on after its budget, the whole replaces the part
    report   BLOB NOT NULL         -- the Evaluation (msgpack)
);
CREATE INDEX evaluation_set ON evaluation (sha256, origin, against);

-- One row per evaluation that was begun; it goes when the evaluation is finished.
CREATE TABLE journal (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    key      TEXT NOT NULL,        -- hash over test set, knowledge, executor, judge and options
    plan     TEXT NOT NULL,        -- hash over test set, executor, judge and options: the same run on other knowledge
    made     TEXT NOT NULL,
    tasks    INTEGER NOT NULL      -- how many there are to run
);
CREATE INDEX journal_key ON journal (key);

-- One row per task that ended: it is not run again.
CREATE TABLE journal_run (
    journal  INTEGER NOT NULL REFERENCES journal (id) ON DELETE CASCADE,
    task     TEXT NOT NULL,        -- version, sample and repeat
    run      BLOB NOT NULL,        -- the SampleRun (msgpack)
    PRIMARY KEY (journal, task)
) WITHOUT ROWID;

-- Executions by everything that they depend on.
CREATE TABLE execution (
    key        TEXT PRIMARY KEY,
    made       TEXT NOT NULL,
    execution  BLOB NOT NULL       -- the Execution (msgpack); its trace lies in the data folder
) WITHOUT ROWID;

-- Answers of models by prompt version, model and SHA-256 of the input.
CREATE TABLE answer (
    prompt   TEXT NOT NULL,
    model    TEXT NOT NULL,
    sha256   TEXT NOT NULL,
    answer   BLOB NOT NULL,
    PRIMARY KEY (prompt, model, sha256)
) WITHOUT ROWID;
