"""The shape of what is read of a Kubernetes object: where its schema has an object, a list or a text, there is one.

An API server keeps its schema. What stands before it, or in its place, need not.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

Object = dict[str, Any]


def _list_of(value: Any) -> Any:
    return [] if value is None else value


def _object(value: Any) -> Any:
    return {} if value is None else value


Objects = Annotated[list[Object], BeforeValidator(_list_of)]
Texts = Annotated[dict[str, str], BeforeValidator(_object)]
Optional = Annotated[Object, BeforeValidator(_object)]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class _Ended(_Part):
    exit_code: int = 0


class _State(BaseModel):
    waiting: Optional = {}
    running: Optional = {}
    terminated: _Ended | None = None


class _Container(BaseModel):
    state: _State | None = None


Containers = Annotated[list[_Container], BeforeValidator(_list_of)]


class _Metadata(_Part):
    name: str = Field(min_length=1)
    uid: str = Field(min_length=1)
    labels: Texts = {}
    annotations: Texts = {}
    owner_references: Objects = []


class _Resources(BaseModel):
    limits: Optional = {}


class _Described(BaseModel):
    resources: _Resources | None = None


Described = Annotated[list[_Described], BeforeValidator(_list_of)]


class _Spec(_Part):
    containers: Described = []
    init_containers: Described = []
    scheduling_gates: Objects = []


class _Status(_Part):
    conditions: Objects = []
    container_statuses: Containers = []
    init_container_statuses: Containers = []
    allocatable: Optional = {}
    node_info: Optional = {}


class _Known(BaseModel):
    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


def is_known(item: object) -> bool:
    """Whether this may be an object of Kubernetes: with a name and a uid, and nothing that is read is another thing."""
    try:
        _Known.model_validate(item)
    except ValidationError:
        return False
    return True
