"""`kms_quality_log` and `kms_quality_rollup`, in the database of the items themselves (specification 2, section 3)."""
