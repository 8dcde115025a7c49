#!/usr/bin/env python3
"""Meson builds the libraries with options that a project sets for all of its parts."""

import json
import unittest

import consumer
from consumer import arguments, run

consumer.need('meson', 'ninja')
folder = consumer.fresh_folder(__file__)
OPTIONS = ('-Dunity=on', '-Dcpp_eh=none', '-Dcpp_args=-fno-rtti', '-Db_sanitize=address,undefined', '-Db_lundef=false',
           '-Ddefault_library=both', '-Dtests=disabled', '-Dexamples=disabled', '-Dsimulator=disabled')
# Of each library one that needs the option; release_later.cpp catches exceptions.
SOURCES = ('src/api/base/release_later.cpp', 'src/loader/platform/posix.c')


class ParentFlags(unittest.TestCase):
    def test_unity_without_exceptions_with_sanitizers(self):
        build = folder / 'build'
        run('meson', 'setup', build, arguments.source, '--wrap-mode=nodownload', *OPTIONS,
            *consumer.headers_option('headers_dir'))
        run('ninja', '-C', build, '-n')  # every object has a rule
        commands = json.loads((build / 'compile_commands.json').read_text(encoding='utf-8'))
        objects = [each['output'] for each in commands if each['file'].endswith(SOURCES)]
        self.assertEqual(len(objects), 2 * len(SOURCES), 'a shared and a static one of each')
        run('ninja', '-C', build, *objects)


if __name__ == '__main__':
    consumer.main()
