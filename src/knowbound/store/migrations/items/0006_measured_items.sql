-- The verdicts on each item over all days, made of `kms_quality_rollup`: a page of items is read by an index. Days that
-- were written since somebody looked wait in `unlisted_day` (kms/quality_log/sqlite.py). MongoDB has `kms_quality_item`.
CREATE TABLE kms_quality_item_day (
    item          TEXT NOT NULL,
    date          TEXT NOT NULL,
    judged        INTEGER NOT NULL,
    on_topic      INTEGER NOT NULL,
    used          INTEGER NOT NULL,
    contradicted  INTEGER NOT NULL,
    unjudged      INTEGER NOT NULL,
    PRIMARY KEY (item, date)
) WITHOUT ROWID;
CREATE INDEX kms_quality_item_day_date ON kms_quality_item_day (date, item);
CREATE TABLE kms_quality_item (
    item          TEXT PRIMARY KEY,
    judged        INTEGER NOT NULL,
    on_topic      INTEGER NOT NULL,
    used          INTEGER NOT NULL,
    contradicted  INTEGER NOT NULL,
    unjudged      INTEGER NOT NULL,
    last          TEXT NOT NULL        -- day
) WITHOUT ROWID;
CREATE INDEX kms_quality_item_contradicted ON kms_quality_item (contradicted, item);
CREATE INDEX kms_quality_item_judged ON kms_quality_item (judged, item);
CREATE INDEX kms_quality_item_last ON kms_quality_item (last, item);

CREATE TABLE unlisted_day (date TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO unlisted_day SELECT date FROM kms_quality_rollup;
CREATE TRIGGER kms_quality_rollup_added AFTER INSERT ON kms_quality_rollup
BEGIN INSERT OR IGNORE INTO unlisted_day VALUES (new.date); END;

-- Turns that contradict an item or correct one: all that warranted corrections are made of.
CREATE INDEX kms_quality_log_telling ON kms_quality_log (date)
WHERE instr(document, '"contradicted":true') OR instr(document, '"corrected":["');
