#!/usr/bin/env python3
"""The example hello_gpu without a GPU prints the reason and a hint and succeeds.

usage: hello_test.py HELLO_GPU --stub FAKE_DRIVER --no-device FAKE_DRIVER
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../support'))
import options  # noqa: E402
import quiet  # noqa: E402

arguments = options.of_command_line()
[PROGRAM] = arguments.words


class Hello(unittest.TestCase):
    def check(self, explanation, hint, **variables):
        for option, status in ((None, 0), ('--require-gpu', 1)):
            with self.subTest(option=option):
                found, text, complained = quiet.run(PROGRAM, *([option] if option else []), **variables)
                self.assertEqual((found, complained), (status, ''), text)
                lines = text.splitlines()
                self.assertEqual(len(lines), 2, text)
                self.assertIn(explanation, lines[0])
                self.assertIn(hint, lines[1])

    def test_disabled(self):
        self.check('CUSHIM_DISABLE is set', 'CUSHIM_DISABLE', CUSHIM_DISABLE='1')

    def test_link_stub(self):
        self.check('link stub', 'driver', CUSHIM_DRIVER=arguments.text('stub'))

    def test_no_driver(self):
        self.check('/nonexistent/libcuda.so.1', 'CUSHIM_DRIVER',
                   CUSHIM_DRIVER='/nonexistent/libcuda.so.1')

    def test_driver_without_device(self):
        self.check('finds no GPU', 'container', CUSHIM_DRIVER=arguments.text('no-device'), FAKE_INIT='100')


if __name__ == '__main__':
    unittest.main(verbosity=2)
