"""All settings: name, default and a one-sentence description.

A value comes from the environment (LEYDEN_<NAME>, or LEYDEN_<NAME>_FILE
naming a file that contains it), else from a TOML file (HOME/leyden.toml, or
LEYDEN_CONFIG), else it is the default. `leyden config` prints all settings;
docs/operators/settings.md lists them.
"""

from leyden.base.settings.fields import Settings, every_setting
from leyden.base.settings.reading import BESIDE, PREFIX, load, words

__all__ = ["BESIDE", "PREFIX", "Settings", "every_setting", "load", "words"]
