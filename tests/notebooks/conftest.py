"""A test that asks for a `chapter` runs once for every chapter, one that asks for a `page` for every notebook, and one
that asks for a `headed` page for every notebook but the front page.
"""

from tests.chapters import chapters, notebooks


def pytest_generate_tests(metafunc):
    for name, found in (("chapter", chapters()), ("page", notebooks()), ("headed", notebooks(front=False))):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, found, ids=[each.path.stem for each in found])
