"""Settings as they are sent to the API: for a new node, and to change one."""

from typing import TYPE_CHECKING, Annotated, Any, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from leyden.schemas.node_settings import TABLE, SettingsAnswer

Text = Annotated[str, Meta(max_length=65_536)]


class _Sent(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A partial update of a node's settings; omitted ones stay unchanged.

    `sphinx` and `webhook_secret` may be sent back as they were returned,
    and are ignored.
    """

    def sent(self) -> dict[str, object]:
        """Return what was sent, by name."""
        every = msgspec.structs.asdict(self)
        return {name: value for name, value in every.items() if value is not UNSET}


if TYPE_CHECKING:

    class SettingsChange(_Sent):
        """Some of a node's settings; what is not sent stays as it is."""

    class NewSettings(SettingsChange):
        """The settings of a new node."""

else:

    def _type_of(shown: Any) -> Any:
        of = get_args(shown)[0] if hasattr(shown, "__metadata__") else shown
        return Text if of is str else of

    _EVERY = {
        field.name: _type_of(field.type)
        for field in msgspec.structs.fields(SettingsAnswer)
    }
    SettingsChange = msgspec.defstruct(
        "SettingsChange",
        [(name, of | UnsetType, UNSET) for name, of in _EVERY.items()],
        bases=(_Sent,),
        namespace={"__doc__": _Sent.__doc__},
        kw_only=True,
    )
    NewSettings = msgspec.defstruct(
        "NewSettings",
        [(name, _EVERY[name]) for name in TABLE if TABLE[name].is_required],
        bases=(SettingsChange,),
        namespace={
            "__doc__": "The settings of a new node; seven of them have no default."
        },
        kw_only=True,
    )
