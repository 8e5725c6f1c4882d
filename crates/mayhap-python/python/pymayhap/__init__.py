"""Bloom filters and their family: sets that answer "certainly not" or "maybe" in a few bits per key.

>>> import pymayhap as mh
>>> f = mh.Filter(1_000_000, 0.01)
>>> f.add("ada")
True
>>> "ada" in f, "eve" in f
(True, False)

Keys are ``str`` (as UTF-8), bytes-like objects and ``int`` from -2**63 to 2**64 - 1. A key that is added here
is found by the ``mayhap`` command, by Rust and by Redis, and the reverse. See docs/PYTHON.md.
"""

from ._pymayhap import Dedup, Filter, Plan, Seen, __version__, build, build_cascade, open, plan

__all__ = [
    "Cascade",
    "Dedup",
    "Filter",
    "Plan",
    "Seen",
    "build",
    "dedup",
    "open",
    "plan",
]


class Cascade:
    """Filters that are exact on two lists: every key of one is in, no key of the other is."""

    @staticmethod
    def build(include, exclude, *, fpr=None, path=None, **options):
        """Build a filter that holds every key of ``include`` and no key of ``exclude``; other keys pass at
        the rate ``fpr``. Written to ``path`` if one is given. Keys in both lists are an error, unless
        ``on_conflict`` is ``"include"`` or ``"exclude"``.

        >>> import pymayhap as mh
        >>> revoked = mh.Cascade.build(["c1", "c7"], [f"c{i}" for i in range(100) if i not in (1, 7)])
        >>> "c1" in revoked, any(f"c{i}" in revoked for i in range(100) if i not in (1, 7))
        (True, False)
        """
        return build_cascade(include, exclude, fpr=fpr, path=path, **options)


def dedup(lines, *, exact=False, state=None, fpr=None, capacity=None, window=None, key=None):
    """Go through lines (or any keys) and yield each that did not come before.

    A new line is taken for a repeat with a chance of ``fpr``, one in a million unless given; with ``exact``
    never. ``state`` is a file that remembers from run to run, the same that ``mayhap dedup --state`` uses; it
    is written when the generator ends. ``window`` forgets: a number of lines, or a ``timedelta``, for which
    ``capacity`` says how many lines to expect within it. ``key`` makes the key of a line.

    >>> import pymayhap as mh
    >>> list(mh.dedup(["ada", "eve", "ada", "bob", "eve"]))
    ['ada', 'eve', 'bob']
    >>> list(mh.dedup(["Ada", "ada"], key=str.lower))
    ['Ada']
    """
    # At once, not with the first line: a state that cannot be used is an error of this call.
    seen = Dedup(exact=exact, state=state, fpr=fpr, capacity=capacity, window=window)
    return _new_lines(lines, seen, key)


def _new_lines(lines, seen, key):
    add = seen.add
    try:
        for line in lines:
            if add(line if key is None else key(line)):
                yield line
    finally:
        # Also where the caller stops early: what was handed out is remembered.
        try:
            seen.save()
        finally:
            seen.close()


def _restore(data, secret):
    """What a pickle of a filter calls."""
    return Filter.from_bytes(data, secret=secret)
