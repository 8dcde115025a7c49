#!/usr/bin/env python3
"""The installed shared libraries export what the last release exported: tools/packaging/symbols.py."""

import shutil
import sys

import consumer
from consumer import arguments, run

install = consumer.Install(__file__)
CUDA = f'{arguments.cuda_version // 1000}.{arguments.cuda_version % 1000 // 10}'
TOOL = arguments.source / 'tools/packaging/symbols.py'
LIBRARIES = [install.library(f'lib{name}.so') for name in ('cushim', 'cushim-core')]


class Symbols(consumer.ConsumerTest):
    def compare(self, lists=TOOL.with_name('symbols'), **more):
        return run(sys.executable, TOOL, '--cuda', CUDA, '--lists', lists, *LIBRARIES, **more)

    def changed_lists(self):
        folder = consumer.fresh_folder(__file__, self.id().rsplit('.', maxsplit=1)[-1]) / 'lists'
        shutil.copytree(TOOL.with_name('symbols'), folder)
        return folder

    def test_no_symbol_of_the_last_release_is_missing(self):
        output = self.compare()
        for library in LIBRARIES:
            self.assertRegex(output, rf'{library.name}\.\d+: [1-9]\d+ listed symbols compared, 0 missing')

    def test_a_missing_symbol_is_reported(self):
        lists = self.changed_lists()
        with open(lists / 'libcushim-core.so.0', 'a', encoding='ascii') as file:
            file.write('cushim_of_the_last_release\n')
        output = self.compare(lists, fails=True)
        self.assertIn('error: libcushim-core.so.0 no longer exports cushim_of_the_last_release', output)

    def test_a_new_soname_needs_a_list(self):
        lists = self.changed_lists()
        (lists / 'libcushim.so.0').unlink()
        self.assertIn('libcushim.so.0 has no list of exported symbols', self.compare(lists, fails=True))


if __name__ == '__main__':
    consumer.main()
