from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, Protocol, SupportsIndex, TypeVar, final

import numpy as np
import numpy.typing as npt

__version__: str
__all__ = ["Cascade", "Dedup", "Filter", "Plan", "Seen", "build", "dedup", "open", "plan"]

_Path = str | PathLike[str]
_Key = str | bytes | bytearray | memoryview | SupportsIndex
_Bools = npt.NDArray[np.bool_]
_Id = TypeVar("_Id", str, bytes)
_Line = TypeVar("_Line")
_Kind = Literal[
    "blocked",
    "classic",
    "fuse",
    "ribbon",
    "scalable",
    "windowed",
    "quotient",
    "counting",
    "sharded",
    "bitmap",
]

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class _ToNumpy(Protocol):
    def to_numpy(self) -> npt.NDArray[Any]: ...

_Keys = Iterable[_Key] | npt.NDArray[Any] | _ArrowArray | _ArrowStream | _ToNumpy

class Filter:
    def __new__(
        cls,
        capacity: int | None = None,
        fpr: float | None = None,
        *,
        kind: _Kind | str | None = None,
        memory: int | str | None = None,
        seed: int | None = None,
        secret: bytes | str | Literal[True] | None = None,
        window: float | timedelta | None = None,
        generations: int | None = None,
        growth: int | None = None,
        shards: int | None = None,
        key_type: str | None = None,
        normalize: str | None = None,
        meta: Mapping[str, str] | None = None,
    ) -> Filter: ...
    def add(self, key: _Key) -> bool: ...
    def discard(self, key: _Key) -> None: ...
    def remove(self, key: _Key) -> None: ...
    def __contains__(self, key: _Key) -> bool: ...
    def update(self, keys: _Keys) -> None: ...
    def add_many(self, keys: _Keys) -> _Bools: ...
    def contains_many(self, keys: _Keys) -> _Bools: ...
    def discard_many(self, keys: _Keys) -> int: ...
    def clear(self) -> None: ...
    def copy(self) -> Filter: ...
    def __copy__(self) -> Filter: ...
    def __deepcopy__(self, memo: Any) -> Filter: ...
    def __or__(self, other: Filter) -> Filter: ...
    def __and__(self, other: Filter) -> Filter: ...
    def __ior__(self, other: Filter) -> Filter: ...
    def __iand__(self, other: Filter) -> Filter: ...
    def __eq__(self, other: object) -> bool: ...
    def __bytes__(self) -> bytes: ...
    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        *,
        secret: bytes | str | None = None,
        format: str | None = None,
        key_type: str | None = None,
        column: str | None = None,
    ) -> Filter: ...
    def save(self, path: _Path) -> None: ...
    @property
    def kind(self) -> str: ...
    @property
    def keys_added(self) -> int | None: ...
    @property
    def capacity(self) -> int: ...
    @property
    def fpr(self) -> float: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def secret(self) -> bytes | None: ...
    def estimate(self) -> int | None: ...
    def fpr_now(self) -> float: ...
    def info(self) -> dict[str, Any]: ...

def open(
    path: _Path,
    *,
    verify: bool = True,
    key_type: str | None = None,
    column: str | None = None,
    format: str | None = None,
    secret: bytes | str | None = None,
) -> Filter: ...
def build(
    path: _Path | None,
    keys: _Keys,
    *,
    kind: _Kind | str | None = None,
    fpr: float | None = None,
    capacity: int | None = None,
    overwrite: bool = True,
    memory: int | str | None = None,
    seed: int | None = None,
    secret: bytes | str | Literal[True] | None = None,
    window: float | timedelta | None = None,
    generations: int | None = None,
    growth: int | None = None,
    shards: int | None = None,
    key_type: str | None = None,
    normalize: str | None = None,
    meta: Mapping[str, str] | None = None,
) -> Filter: ...

class Cascade:
    @staticmethod
    def build(
        include: _Keys,
        exclude: _Keys,
        *,
        fpr: float | None = None,
        path: _Path | None = None,
        overwrite: bool = True,
        on_conflict: Literal["error", "include", "exclude"] = "error",
        seed: int | None = None,
        secret: bytes | str | Literal[True] | None = None,
        key_type: str | None = None,
        normalize: str | None = None,
        meta: Mapping[str, str] | None = None,
    ) -> Filter: ...

@final
class Plan:
    @property
    def kind(self) -> str: ...
    @property
    def keys(self) -> int: ...
    @property
    def fpr(self) -> float: ...
    @property
    def bytes(self) -> int: ...
    @property
    def bits_per_key(self) -> float: ...
    @property
    def rows(self) -> list[dict[str, Any]]: ...
    def _repr_html_(self) -> str: ...

def plan(
    keys: int | None = None,
    fpr: float | None = None,
    memory: int | str | None = None,
    *,
    kind: _Kind | str = "blocked",
) -> Plan: ...
@final
class Seen:
    def __new__(
        cls,
        store: _Path,
        *,
        policy: str | None = None,
        read_only: bool = False,
        fail_open: bool = False,
        wait: float = 1.0,
    ) -> Seen: ...
    def unseen(self, owner: str | bytes, candidates: Iterable[_Id]) -> list[_Id]: ...
    def mark(self, owner: str | bytes, given: Iterable[str | bytes]) -> int: ...
    def mark_unseen(self, owner: str | bytes, candidates: Iterable[_Id]) -> list[_Id]: ...
    def offer(self, owner: str | bytes, candidates: Iterable[_Id], ttl: int = 60) -> list[_Id]: ...
    def confirm(self, owner: str | bytes, given: Iterable[str | bytes]) -> int: ...
    def forget(self, owner: str | bytes) -> bool: ...
    def explain(self, owner: str | bytes, id: str | bytes) -> dict[str, Any]: ...
    @property
    def policy(self) -> str: ...
    def stats(self) -> dict[str, int]: ...
    @property
    def failures(self) -> int: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Seen: ...
    def __exit__(self, *args: object) -> None: ...

@final
class Dedup:
    def __new__(
        cls,
        *,
        exact: bool = False,
        state: _Path | None = None,
        fpr: float | None = None,
        capacity: int | None = None,
        window: int | timedelta | None = None,
    ) -> Dedup: ...
    def add(self, key: _Key) -> bool: ...
    @property
    def keys(self) -> int: ...
    def save(self) -> None: ...
    def close(self) -> None: ...

def dedup(
    lines: Iterable[_Line],
    *,
    exact: bool = False,
    state: _Path | None = None,
    fpr: float | None = None,
    capacity: int | None = None,
    window: int | timedelta | None = None,
    key: Callable[[_Line], _Key] | None = None,
) -> Iterator[_Line]: ...
