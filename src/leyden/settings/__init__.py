"""Every knob, once: its name, its default, and one sentence.

A value comes from the environment (LEYDEN_<NAME>, or LEYDEN_<NAME>_FILE naming a file
that holds it), else from a TOML file (HOME/leyden.toml, or LEYDEN_CONFIG), else it is
the default. `leyden config` prints them all; docs/operating.md lists them.
"""

from leyden.settings.knobs import Settings, every_setting
from leyden.settings.reading import BESIDE, PREFIX, load

__all__ = ["BESIDE", "PREFIX", "Settings", "every_setting", "load"]
