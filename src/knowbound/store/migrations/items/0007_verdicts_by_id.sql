-- Verdicts are asked for by the id of an item alone.
DROP INDEX IF EXISTS kms_quality_item_contradicted;
DROP INDEX IF EXISTS kms_quality_item_judged;
DROP INDEX IF EXISTS kms_quality_item_last;
