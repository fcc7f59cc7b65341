"""A compiled module is loaded only beside the sources it was compiled from."""

import pytest

from kilogram.native import _core
from kilogram.native.load import SOURCES, check_sources
from kilogram.native.source_digest import source_digest


def test_the_digest_depends_on_names_and_contents(tmp_path):
    (tmp_path / "sums").mkdir()
    (tmp_path / "sums" / "a.cpp").write_text("int a;")
    first = source_digest(tmp_path)
    (tmp_path / "sums" / "a.cpp").write_text("int b;")
    second = source_digest(tmp_path)
    (tmp_path / "sums" / "a.cpp").rename(tmp_path / "sums" / "b.cpp")
    assert len({first, second, source_digest(tmp_path)}) == 3


@pytest.mark.skipif(not SOURCES.is_dir(), reason="installed from a wheel, without the C++ sources")
def test_this_build_is_of_these_sources():
    assert _core.source_digest == source_digest(SOURCES)


def test_another_build_is_refused(tmp_path):
    (tmp_path / "a.cpp").write_text("int a;")
    check_sources(source_digest(tmp_path), tmp_path)
    check_sources("anything", tmp_path / "missing")
    with pytest.raises(ImportError, match="does not match its C\\+\\+ sources"):
        check_sources("of other sources", tmp_path)
