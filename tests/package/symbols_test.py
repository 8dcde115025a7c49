#!/usr/bin/env python3
"""The installed shared libraries export what the last release exported: tools/packaging/symbols.py."""

import sys
import unittest

import consumer
from consumer import arguments, run

install = consumer.Install(__file__)
CUDA = f'{arguments.cuda_version // 1000}.{arguments.cuda_version % 1000 // 10}'
TOOL = arguments.source / 'tools/packaging/symbols.py'
LIBRARIES = [install.library(f'lib{name}.so') for name in ('cushim', 'cushim-core')]


class Symbols(consumer.ConsumerTest):
    def compare(self, *options, **more):
        return run(sys.executable, TOOL, '--cuda', CUDA, *options, *LIBRARIES, **more)

    @unittest.skipUnless(TOOL.with_name('symbols').exists(), 'no release')
    def test_no_symbol_of_the_last_release_is_missing(self):
        self.assertEqual(self.compare().count(', 0 missing'), len(LIBRARIES))

    def test_a_missing_symbol_is_reported(self):
        lists = consumer.fresh_folder(__file__, 'lists') / 'symbols'
        self.compare('--lists', lists, '--update')
        output = self.compare('--lists', lists)
        for library in LIBRARIES:
            self.assertRegex(output, rf'{library.name}\.\d+: [1-9]\d+ listed symbols compared, 0 missing')
        with open(next(lists.glob('libcushim-core.so.*')), 'a', encoding='ascii') as file:
            file.write('cushim_of_the_last_release\n')
        output = self.compare('--lists', lists, '--update', fails=True)
        self.assertRegex(output, r'error: libcushim-core.so.\d+ no longer exports cushim_of_the_last_release')


if __name__ == '__main__':
    consumer.main()
