"""What `judge calibrate` found about judges of hedges, by judge version: `calibration.json` of the data folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from knowbound.errors import StoreError
from knowbound.files import replacing
from knowbound.user_files import make_folder

NAME = "calibration.json"
FALSE_LIMIT = 0.40  # specification 1, section 10: above it hedges are switched off
ENOUGH = 20  # labels: the specification's own limit (section 5) for a rate that can be relied on


class Calibrated(msgspec.Struct, frozen=True):
    """Of the labelled sentences that a judge called doubt, those that people did not."""

    false: int
    of: int
    share: float | None  # false / of, unless labels weigh differently; None where it called nothing doubt
    effective: float  # independent labels that would tell as much
    labels: str  # the first 8 hex digits of the SHA-256 of their file
    made: str  # when, UTC

    @property
    def is_above_limit(self) -> bool:
        """Whether too many are false, however few labels say so."""
        return self.share is not None and self.share > FALSE_LIMIT

    @property
    def switches_off(self) -> bool:
        """Whether hedges are left out while this judge is configured."""
        return self.is_above_limit and round(self.effective) >= ENOUGH


def calibrated(home: Path, judge: str) -> Calibrated | None:
    """The newest calibration of this version of a judge."""
    return _load(home).get(judge)


def keep_calibrated(home: Path, judge: str, found: Calibrated) -> None:
    """Remember it in place of an earlier one."""
    known = {**_load(home), judge: found}
    make_folder(home)
    with replacing(home / NAME, private=True) as file:
        file.write(msgspec.json.format(msgspec.json.encode(known), indent=2) + b"\n")


def _load(home: Path) -> dict[str, Calibrated]:
    path = home / NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Calibrated])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            "calibration-unreadable",
            f"{path} cannot be used: {error}. Move it away, and run: knowbound judge calibrate",
        ) from error
