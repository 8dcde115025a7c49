#!/usr/bin/env python3
"""Misuse that the compiler must refuse, each in a file of its own.

The first line of a file is `// refused: PATTERN`, which the compiler's words must match; a second one may be
`// lines: NUMBER`, which they must not exceed. The misuse
stands where MISUSE is defined; without it the same file must compile, without a warning: the positive
control.
"""

import os
import re
import unittest

import compiler as compiler_module

OPTIONS = ['-Werror', '-Wall', '-Wextra', '-Wpedantic']

arguments = compiler_module.parse_arguments()


class Misuse(unittest.TestCase):
    def test_every_file(self):
        self.assertTrue(arguments.files)
        for path in arguments.files:
            with self.subTest(os.path.basename(path)):
                with open(path, encoding='utf-8') as file:
                    code = file.read()
                pattern = re.match(r'// refused: (.+)\n', code).group(1)
                control = arguments.compiler.run(code, *OPTIONS)
                self.assertEqual(control.returncode, 0, control.stderr[:4000])
                refused = arguments.compiler.run(code, *OPTIONS, '-DMISUSE')
                self.assertNotEqual(refused.returncode, 0, 'it compiles')
                self.assertRegex(refused.stderr, pattern)
                if most := re.match(r'.*\n// lines: (\d+)\n', code):
                    lines = refused.stderr.splitlines()
                    self.assertLessEqual(len(lines), int(most.group(1)), refused.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2)
