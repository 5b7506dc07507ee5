"""The cache of the hook's settings is made anew whenever something that decides a setting changes."""

from __future__ import annotations

import inspect
import re

from knowbound.config import SETTINGS
from knowbound.injection import hook_settings


def test_the_cache_depends_on_the_variable_of_every_setting_that_hooks_read() -> None:
    read = set(re.findall(r"settings\.(\w+)", inspect.getsource(hook_settings._from_config)))
    variables = {setting.env for setting in SETTINGS if setting.name in read}
    assert len(variables) > 8
    assert {name for name in variables if not name.startswith(hook_settings.PREFIXES)} == set()
