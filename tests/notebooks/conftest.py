"""Each test that asks for a `chapter` runs once for every chapter."""

from tests.chapters import chapters


def pytest_generate_tests(metafunc):
    if "chapter" in metafunc.fixturenames:
        found = chapters()
        metafunc.parametrize("chapter", found, ids=[chapter.path.stem for chapter in found])
