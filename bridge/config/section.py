"""What every part of bridge.toml is, and the kinds of values that stand in several."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Size = Annotated[str, Field(pattern=r"^[1-9][0-9]*(Mi|Gi)$")]
ResourceName = Annotated[
    str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
]
Label = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$")]
"""A name that becomes part of names in Kubernetes."""
Interface = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")]
Adapter = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(:[1-9][0-9]*)?$")]
Network = Annotated[str, Field(pattern=r"^([a-z0-9][a-z0-9-]*/)?[a-z0-9][a-z0-9.-]*(@[A-Za-z0-9_.-]{1,15})?$")]
Image = Annotated[str, Field(pattern=r"^[^\s/][^\s]*[^\s/]$")]


class Section(BaseModel):
    """A part of bridge.toml: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
