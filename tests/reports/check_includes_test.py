#!/usr/bin/env python3
"""What the check of includes and of the size of folders finds."""

import pathlib
import tempfile
import unittest

from ci_scripts import check_includes


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edges(self):
        return list(check_includes.includes(self.root, "src/api"))

    def test_include_of_a_folder_above_is_found(self):
        self.write("src/api/base/call.hpp", '#include "graph/graph.hpp"\n')
        self.write("src/api/graph/graph.hpp", '#include "base/call.hpp"\n')
        order = ["graph", "base"]
        self.assertEqual(list(check_includes.upward(self.edges()[1:], order)), [])
        self.assertEqual(list(check_includes.upward(self.edges(), order)),
                         ["base/call.hpp includes graph/graph.hpp, which is above it"])

    def test_include_of_a_folder_that_is_not_listed_is_found(self):
        self.write("src/api/state.hpp", '#include "graph/graph.hpp"\n')
        self.write("src/api/graph/graph.hpp")
        self.assertEqual(len(list(check_includes.upward(self.edges(), [""]))), 1)

    def test_circle_of_headers_is_found(self):
        self.write("src/api/base/a.hpp", '#include "b.hpp"\n')
        self.write("src/api/base/b.hpp", '#include "a.hpp"\n')
        self.assertEqual(list(check_includes.circles(self.edges())),
                         ["base/a.hpp includes base/b.hpp includes base/a.hpp"])

    def test_folder_with_too_many_pairs_of_files_is_found(self):
        for number in range(check_includes.PAIRS):
            self.write(f"src/api/base/{number}.hpp")
            self.write(f"src/api/base/{number}.cpp")
            self.write(f"src/api/base/platform/{number}.cpp")
        self.assertEqual(list(check_includes.crowded(self.root)), [])
        self.write("src/api/base/one_more.hpp")
        self.assertEqual(list(check_includes.crowded(self.root)),
                         ["src/api/base: 26 pairs of header and source, limit 25"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
