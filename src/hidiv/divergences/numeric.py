"""Results that can be formatted, rounded, compared and calculated with as the number they hold."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hidiv.errors import HidivError, refuse


class Numeric:
    """Stands for float(self) in formats, comparisons and arithmetic, which gives plain floats.

    Two results in different units are unequal, and are not ordered or added: `to` brings them into one unit.
    """

    unit: str

    @abstractmethod
    def __float__(self) -> float: ...

    def __int__(self) -> int:
        return int(float(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(float(self), dtype=dtype)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __round__(self, digits: int | None = None) -> float | int:
        return round(float(self), digits)

    def __abs__(self) -> float:
        return abs(float(self))

    def __neg__(self) -> float:
        return -float(self)

    def __pos__(self) -> float:
        return float(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numeric) and other.unit != self.unit:
            return False
        return NotImplemented if (number := self._other(other)) is None else float(self) == number

    def __hash__(self) -> int:
        return hash(float(self))

    def __lt__(self, other: Any) -> bool:
        return NotImplemented if (number := self._other(other)) is None else float(self) < number

    def __le__(self, other: Any) -> bool:
        return NotImplemented if (number := self._other(other)) is None else float(self) <= number

    def __gt__(self, other: Any) -> bool:
        return NotImplemented if (number := self._other(other)) is None else float(self) > number

    def __ge__(self, other: Any) -> bool:
        return NotImplemented if (number := self._other(other)) is None else float(self) >= number

    def __add__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else float(self) + number

    __radd__ = __add__

    def __sub__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else float(self) - number

    def __rsub__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else number - float(self)

    def __mul__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else float(self) * number

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else float(self) / number

    def __rtruediv__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else number / float(self)

    def __floordiv__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else float(self) // number

    def __rfloordiv__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else number // float(self)

    def __mod__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else float(self) % number

    def __rmod__(self, other: Any) -> float:
        return NotImplemented if (number := self._other(other)) is None else number % float(self)

    def __divmod__(self, other: Any) -> tuple[float, float]:
        return NotImplemented if (number := self._other(other)) is None else divmod(float(self), number)

    def __rdivmod__(self, other: Any) -> tuple[float, float]:
        return NotImplemented if (number := self._other(other)) is None else divmod(number, float(self))

    def __pow__(self, other: Any) -> Any:
        return NotImplemented if (number := self._other(other)) is None else float(self) ** number

    def __rpow__(self, other: Any) -> Any:
        return NotImplemented if (number := self._other(other)) is None else number ** float(self)

    def _other(self, other: object) -> float | None:
        """The other operand as a float, refused in another unit; None for what is no number, such as arrays."""
        if isinstance(other, Numeric):
            if other.unit != self.unit:
                remedy = 'bring both into one unit, as in d.to("bits")'
                refuse(HidivError, "unit", f"{self.unit} and {other.unit} are not comparable", remedy=remedy)
            return float(other)
        return float(other) if isinstance(other, int | float | np.integer | np.floating) else None
