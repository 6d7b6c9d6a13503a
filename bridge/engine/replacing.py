"""`replace` for the engine's records: that of `dataclasses`, without a constructor that sets field after field.

A run has some seventy fields and changes some fifty times; a replay of a thousand runs is little else.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(record: Any, /, **changes: Any) -> Any:
        """A copy with these fields changed, of a frozen dataclass that keeps nothing but its fields."""
        copy = object.__new__(type(record))
        fields = vars(copy)
        fields.update(vars(record))
        known = len(fields)
        fields.update(changes)
        if len(fields) != known:
            raise TypeError(f"{type(record).__name__}({', '.join(changes)})")
        return copy


__all__ = ["replace"]
