"""A digest of the C++ sources: the build stores it in the compiled module, `load.py` compares it.

CMake runs this file as a script, so it uses nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path


def source_digest(folder: Path) -> str:
    """Hexadecimal digest of the names and contents of all files below the folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.?pp")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(source_digest(Path(sys.argv[1])))
