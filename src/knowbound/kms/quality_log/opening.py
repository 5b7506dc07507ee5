"""Opens the quality log of a project: in MongoDB where its items are there, else in the embedded database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowbound.config import Settings
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.kms.quality_log.sqlite import SqliteQualityLog
from knowbound.store.owner import name_of

if TYPE_CHECKING:
    from knowbound.kms.quality_log.mongo import MongoQualityLog


def open_quality_log(settings: Settings) -> QualityLog:
    """The log in the database of the items. Neo4j and Mem0 keep no documents: with them it is the embedded one."""
    return open_shared_log(settings) or SqliteQualityLog(settings.home)


def open_shared_log(settings: Settings) -> MongoQualityLog | None:
    """The log in MongoDB, which other data folders write to as well; None where none is in use."""
    if "mongo" not in settings.kms_backends:
        return None
    from knowbound.kms.quality_log.mongo import MongoQualityLog  # noqa: PLC0415  # imports the driver

    return MongoQualityLog(settings.kms_mongo_url, name_of(settings.home))
