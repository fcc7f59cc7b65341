"""How much memory there is, and how much of it may be used."""

from __future__ import annotations

import os
import re
import sys
from numbers import Real
from pathlib import Path

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{letter}I": 2 ** (10 * i) for i, letter in enumerate("KMGT", start=1)}
_PATTERN = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)

# Of the free memory may be used by default, our choice: the rest is the user's other work.
FREE_FRACTION = 0.6
#: Bytes used without asking the system how much is free, which costs as much as such a matrix.
ALWAYS_ALLOWED = 32 * 2**20
#: Numbers in a block of kernel values or distances that matrix products compute: 32 MiB of
#: float64. Measured on the host: the same time from 2^12 to 2^24; devices need few launches.
BLOCK_ENTRIES = 2**22
#: The same for arithmetic entry by entry, which should stay in the cache: measured for Canberra
#: distances and local regressions, 2^16 to 2^20 take the same time, 2^22 1.3 to 1.8 times as long.
CACHED_ENTRIES = 2**18


def memory_limit(max_memory: int | str | None = None) -> int:
    """Bytes that may be used: those given, or a fraction of what is free."""
    given = parse_memory(max_memory)
    return int(FREE_FRACTION * available_memory()) if given is None else int(given)


def human_bytes(count: float) -> str:
    """A number of bytes for people: '1.5 GiB'."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def parse_memory(limit: str | int | float | None) -> int | None:
    """Bytes of "12GiB", "500MB", "1.5 GB" or a number; None stays None."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, str | Real):
        raise TypeError(
            f"max_memory is a memory limit: bytes, text like '12GiB', or None; got {limit!r}."
        )
    if isinstance(limit, str):
        match = _PATTERN.fullmatch(limit)
        if match is None or match[2].upper() not in _UNITS:
            raise ValueError(
                f"max_memory={limit!r} cannot be read as memory; write '12GiB' or '500MB'."
            )
        limit = float(match[1]) * _UNITS[match[2].upper()]
    if not 0 < limit < float("inf"):
        raise ValueError(f"max_memory, a memory limit, must be positive and finite, got {limit!r}.")
    return min(int(limit), sys.maxsize)


def available_memory() -> int:
    """Bytes this process can still take: those of the system, or of its container if fewer."""
    return max(0, min(_system_memory(), _cgroup_memory(Path("/sys/fs/cgroup"))))


def _system_memory() -> int:
    """MemAvailable of /proc/meminfo (free, and what caches would give back); else free pages."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    pages = "SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in os.sysconf_names else "SC_PHYS_PAGES"
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf(pages)


def _cgroup_memory(root: Path) -> int:
    """What the process's control groups (version 2, then 1) leave of their limits."""
    left = 1 << 62
    for folder, limit, usage in _cgroup_files(root):
        try:
            bound = (folder / limit).read_text().strip()
            used = int((folder / usage).read_text())
            cache = _reclaimable(folder / "memory.stat")
        except (OSError, ValueError):
            continue  # not a memory group at this level
        if bound.isdigit():  # version 2 writes "max" where there is no limit
            left = min(left, int(bound) - used + cache)
    return left


def _cgroup_files(root: Path) -> list[tuple[Path, str, str]]:
    """(folder, limit file, usage file) of the group of this process and all groups above it."""
    found = []
    for line in _own_groups():
        _, controllers, path = line.split(":", 2)
        names = "memory.max", "memory.current"
        base = root
        if controllers:
            if "memory" not in controllers.split(","):
                continue
            base, names = root / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        own = base / path.lstrip("/")
        for folder in [own, *own.parents]:
            found.append((folder, *names))
            if folder == base:
                break
    return found


def _own_groups() -> list[str]:
    try:
        return Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []


def _reclaimable(stat: Path) -> int:
    """Bytes of file cache in the group, which the kernel gives back before it refuses memory."""
    rows = dict(line.split()[:2] for line in stat.read_text().splitlines())
    return int(rows.get("inactive_file", rows.get("total_inactive_file", 0)))
