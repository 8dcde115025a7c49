#!/usr/bin/env python3
"""What the check of includes and of the size of folders finds."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ci_scripts import check_includes  # noqa: E402


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def include(self, file, target, name=None):
        """What is found about includes if one file includes another."""
        self.write(target)
        self.write(file, f'#include "{name or target}"\n')
        problems = check_includes.violations(self.root, list(check_includes.includes(self.root)))
        return [problem for problem in problems if "not below" in problem]

    def test_include_of_a_folder_below_is_allowed(self):
        for file, target in [("src/api/graph/graph.hpp", "src/api/base/call.hpp"),
                             ("src/api/base/a.cpp", "src/loader/report.h"),
                             ("src/dropin/a.cpp", "src/loader/report.h"),
                             ("src/loader/a.c", "include/cushim/loader.h"),
                             ("tools/simulator/runtime/base/a.cpp", "tools/simulator/driver/base/b.hpp"),
                             ("tools/simulator/tool/a.cpp", "tools/simulator/driver/base/b.hpp"),
                             ("tools/simulator/tool/a.cpp", "tools/simulator/settings.hpp")]:
            self.assertEqual(self.include(file, target), [])

    def test_include_that_no_order_allows_is_found(self):
        for number, (file, target, name) in enumerate([
                ("src/api/base/a.cpp", "src/api/graph/graph.hpp", "graph/graph.hpp"),
                ("src/loader/a.c", "src/api/base/state.hpp", "../api/base/state.hpp"),
                ("src/loader/b.c", "src/api/base/state.hpp", "base/state.hpp"),
                ("src/dropin/a.cpp", "src/api/base/state.hpp", "../api/base/state.hpp"),
                ("src/api/base/b.cpp", "tools/simulator/settings.hpp", "../../../tools/simulator/settings.hpp"),
                ("src/api/new/a.cpp", "src/api/base/state.hpp", "base/state.hpp"),
                ("include/cushim/a.hpp", "src/loader/b.h", "../../src/loader/b.h"),
                ("tools/cushim-info/a.cpp", "src/api/base/state.hpp", "../../src/api/base/state.hpp"),
                ("tools/cushim-info/b.cpp", "tools/simulator/settings.hpp", "../simulator/settings.hpp"),
                ("tools/simulator/driver/base/a.cpp", "tools/simulator/runtime/base/b.hpp", "../../runtime/base/b.hpp"),
                ("tools/simulator/conformance/a.cpp", "tools/simulator/driver/engine/b.hpp", "../driver/engine/b.hpp"),
                ("tools/simulator/tool/a.cpp", "tools/simulator/runtime/base/b.hpp", "runtime/base/b.hpp"),
                ("tools/simulator/ptx/run/a.cpp", "tools/simulator/ptx/steps/b.hpp", "ptx/steps/b.hpp")], 1):
            problems = self.include(file, target, name)
            self.assertEqual(len(problems), number)
            self.assertIn(f"{file} includes {target}, which is not below it", problems)

    def test_circle_of_headers_is_found(self):
        self.write("src/api/base/a.hpp", '#include "b.hpp"\n')
        self.write("src/api/base/b.hpp", '#include "a.hpp"\n')
        self.assertEqual(list(check_includes.circles(check_includes.includes(self.root))),
                         ["src/api/base/a.hpp includes src/api/base/b.hpp includes src/api/base/a.hpp"])

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
