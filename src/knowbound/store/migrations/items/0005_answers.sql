-- What was answered to suggested corrections (specification 2, section 5). MongoDB has the same as a collection of the same
-- name. Documents are JSON; docs/injection-quality.md describes them.
CREATE TABLE kms_quality_answer (
    id       TEXT PRIMARY KEY,     -- of the warranted correction: item@raised
    document TEXT NOT NULL
) WITHOUT ROWID;
