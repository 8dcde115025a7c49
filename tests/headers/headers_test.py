#!/usr/bin/env python3
"""Each public header has a guard, begins with its purpose, and rejects an older language with a reason. Headers that
many files include do not include slow headers of the standard library."""

import os
import pathlib
import re
import sys
import tempfile
import unittest

import compiler as compiler_module
from compiler import C_HEADERS, PLAIN_HEADERS, header_name, include

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import public_types  # noqa: E402

HEAVY = {
    'algorithm', 'array', 'atomic', 'chrono', 'deque', 'expected', 'format',
    'functional', 'iostream', 'istream', 'iterator', 'list', 'locale', 'map', 'memory', 'mutex',
    'optional', 'ostream', 'ranges', 'set', 'span', 'sstream', 'stdexcept', 'string', 'string_view',
    'thread', 'tuple', 'unordered_map', 'variant', 'vector',
}  # <utility> is not slow, and result.hpp takes std::in_place from it
LIGHT_HEADERS = {'loader.h', 'loader.hpp', 'table.hpp', 'entry.hpp', 'override.hpp', 'result.hpp',
                 'text.hpp', 'try.hpp', 'error.hpp', 'version.hpp', 'init.hpp', 'driver_table.hpp',
                 'runtime_table.hpp',
                 'detail/driver_entries.hpp', 'detail/runtime_entries.hpp'}

arguments = compiler_module.Arguments()
compiler = arguments.compiler
headers = {header_name(path): path for path in arguments.files}


class EachHeader(unittest.TestCase):
    def test_every_header_has_an_include_guard(self):
        """The guard has the name of the file: two headers with the same guard would hide each other."""
        for name, path in headers.items():
            with self.subTest(name):
                with open(path, encoding='utf-8') as file:
                    text = file.read()
                guard = 'CUSHIM_' + re.sub(r'[^a-z0-9]', '_', name).upper()
                if '#pragma once' not in text:
                    self.assertIn(f'#ifndef {guard}\n#define {guard}\n', text)

    def test_every_header_begins_with_its_purpose(self):
        for name, path in headers.items():
            with self.subTest(name):
                with open(path, encoding='utf-8') as file:
                    first = file.readline()
                self.assertRegex(first, r'^(/\*|//) \S.{20,}')

    def test_older_language_is_rejected_with_one_message(self):
        # version.hpp also compiles with older languages.
        for name in headers.keys() - {'version.hpp', 'detail/append_decimal.hpp'}:
            if name.endswith('.hpp'):
                with self.subTest(name):
                    result = compiler.run(include(name), language='c++17')
                    self.assertNotEqual(result.returncode, 0)
                    (error,) = re.findall('error: (.*)', result.stderr)
                    self.assertIn('cushim needs C++20', error)

    def test_c_headers_are_for_older_languages(self):
        for name in headers.keys() & C_HEADERS:
            for language in ('c++11', 'c++14', 'c++17'):
                with self.subTest(name, language=language):
                    result = compiler.run(include(name), '-Wall', '-Wextra', '-Wpedantic', '-Werror', language=language)
                    self.assertEqual((result.returncode, result.stderr), (0, ''))


class Weight(unittest.TestCase):
    def standard_headers(self, code):
        """Names of the C++ library headers that the code includes."""
        return {os.path.basename(path) for path in compiler.dependencies(code)
                if re.search(r'/c\+\+/', path.replace('\\', '/')) and '.' not in os.path.basename(path)}

    def test_slow_headers_are_recognized(self):
        self.assertIn('string', self.standard_headers('#include <string>\n'))

    def test_light_headers_include_no_slow_header(self):
        # Except for those that NVIDIA's headers include.
        cuda = self.standard_headers('#include <cuda.h>\n#include <cuda_runtime_api.h>\n')
        for name in LIGHT_HEADERS:
            with self.subTest(name):
                self.assertIn(name, headers)
                self.assertEqual((self.standard_headers(include(name)) - cuda) & HEAVY, set())

    def test_headers_without_tables_need_no_cuda_header(self):
        for name in PLAIN_HEADERS:
            with self.subTest(name):
                included = {os.path.basename(path) for path in compiler.dependencies(include(name))}
                self.assertFalse(included & {'cuda.h', 'cuda_runtime_api.h'})


# Macros that remain after the headers of other libraries, those with arguments in the second string.
FOREIGN_MACROS = {
    'Qt with keywords': ('signals slots emit foreach forever', 'Q_OBJECT Q_EMIT Q_SIGNAL SIGNAL SLOT'),
    'X11': ('None Status Bool True False Always Success Complex Unsorted Above Below Convex Nonconvex KeyPress KeyRelease '
            'ButtonPress FocusIn FocusOut Expose CursorShape GrayScale StaticGray CurrentTime YSorted XYPixmap ZPixmap '
            'NotUseful WhenMapped ControlMask BadRequest', 'RootWindow DefaultScreen DisplayString'),
    'Windows': ('near far small hyper interface pascal cdecl IN OUT OPTIONAL CONST VOID ERROR DELETE STRICT NO_ERROR TRUE '
                'FALSE INFINITE CreateEvent OpenEvent CreateSemaphore CreateMutex CreateFile CreateProcess GetMessage '
                'SendMessage GetObject LoadLibrary GetCurrentTime DrawText GetClassName',
                'min max Yield ZeroMemory CopyMemory FillMemory MoveMemory'),
    'Arduino': ('INPUT OUTPUT HIGH LOW LSBFIRST MSBFIRST CHANGE FALLING RISING DEFAULT EXTERNAL INTERNAL PI SERIAL DISPLAY',
                'abs round constrain radians degrees sq bit F interrupts noInterrupts lowByte highByte bitRead bitSet '
                'bitClear bitWrite bitToggle'),
    'Boost.Preprocessor': ('BOOST_PP_EMPTY BOOST_PP_NIL', 'BOOST_PP_CAT BOOST_PP_IF BOOST_PP_SEQ_FOR_EACH'),
    'curses': ('ERR OK stdscr curscr LINES COLS',
               'getyx getch addch move clear erase refresh timeout echo border box scroll insch delch printw'),
    'debug heaps': ('', 'malloc calloc realloc free strdup'),
    'Unreal, ATL': ('PI', 'check checkf verify ensure TEXT ATLASSERT VERIFY ASSERT'),
    'complex.h, termios.h': ('I complex imaginary ECHO ISIG NOFLSH B0 B50 CREAD PARENB', ''),
    'sys/*.h': ('unix linux BYTE_ORDER LITTLE_ENDIAN BIG_ENDIAN st_atime st_mtime st_ctime sa_handler s6_addr h_addr',
                'major minor makedev'),
}


class ForeignMacros(unittest.TestCase):
    def compile_all(self, defines):
        """The headers after these macros. The headers of others that they include come before."""
        others = sorted({name for path in headers.values()
                         for name in re.findall(r'#include <([a-z_]+)>', pathlib.Path(path).read_text(encoding='utf-8'))})
        code = include('detail/driver_headers.h') + include('detail/runtime_headers.h')
        code += ''.join(f'#if __has_include(<{name}>)\n#include <{name}>\n#endif\n' for name in others)
        return compiler.run(code + defines + ''.join(include(name) for name in sorted(headers)))

    def test_no_identifier_is_a_macro_of_another_library(self):
        """Each macro becomes a character that is no token of C++, so that its use is an error."""
        defines = ''.join(f'#undef {name}\n#define {name}{arguments} @\n'
                          for plain, functions in FOREIGN_MACROS.values()
                          for names, arguments in ((plain, ''), (functions, '(...)')) for name in names.split())
        result = self.compile_all(defines)
        self.assertEqual(result.returncode, 0, result.stderr[:2000])

    def test_an_identifier_that_is_a_macro_is_found(self):
        self.assertNotEqual(self.compile_all('#define synchronize(...) @\n').returncode, 0)


# The part of <format> that printing.hpp uses, for compilers without it.
FORMAT = '''
#pragma once
#include <string_view>
namespace std {
template <class T, class Char>
struct formatter {
    formatter() = delete;
};
template <class Char>
struct formatter<string_view, Char> {
    template <class Context>
    auto format(string_view, Context &context) const { return context.out(); }
};
}
'''

FORMATTED = '''
#include <cushim/printing.hpp>
#include <cushim/capture_mode.hpp>
#include <cushim/stream.hpp>
struct Context { int out() { return 0; } };
template <class T>
int formatted(const T &object) {
    Context context;
    return std::formatter<T, char>().format(object, context);
}
int all(const cushim::Error &error, const cushim::Stream &stream) {
    return formatted(error) + formatted(stream) + formatted(cushim::Version()) + formatted(cushim::CaptureMode::global);
}
'''


class Printing(unittest.TestCase):
    def test_every_enum_and_owner_has_a_text(self):
        """Declared in its own header; an inherited one would print another type's name, except that of TypedBuffer,
        which text_test checks for each buffer."""
        lacking = []
        known = set()
        for name, path in headers.items():
            if name.endswith('_table.hpp'):
                continue  # generated: no owners
            types = set(public_types.enums([path])) | set(public_types.owners([path]))
            known |= types
            text = public_types.public_text(path)
            lacking += [f'{name}: {each}' for each in sorted(types - public_types.NO_OWNERS)
                        if not re.search(rf'\bText to_text\((const )?{each}(<.*?>)?\)* &?\w+\)'
                                         rf'|\bclass {each} : public TypedBuffer<', text)]
        self.assertEqual(lacking, [])
        # The lists are not empty, and every exception exists.
        self.assertLessEqual({'Stream', 'DeviceBuffer', 'Kernel', 'UniqueFd', 'GraphUpdateResult'}, known)
        self.assertEqual(public_types.NO_OWNERS - known, set())

    def test_headers_include_nothing_for_printing(self):
        for name in headers.keys() - {'printing.hpp'} - compiler_module.C_HEADERS:
            with self.subTest(name):
                included = {os.path.basename(path) for path in compiler.dependencies(include(name))}
                self.assertEqual(included & {'format', 'iostream', 'ostream', 'printing.hpp', 'sstream'}, set())

    def test_formatters_compile(self):
        """If the compiler has <format>, tests/values/text_test.cpp checks them."""
        if compiler.run('#include <version>\n#ifndef __cpp_lib_format\n#error none\n#endif\n').returncode == 0:
            self.skipTest('this compiler has <format>')
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, 'format').write_text(FORMAT, encoding='utf-8')
            options = ['-D__cpp_lib_format=1', f'-I{folder}', '-Wall', '-Wextra', '-Werror']
            result = compiler.run(FORMATTED, *options)
            self.assertEqual(result.returncode, 0, result.stderr)
            result = compiler.run(FORMATTED + 'int no() { return formatted(cushim::StreamOptions()); }', *options)
            self.assertNotEqual(result.returncode, 0)


if __name__ == '__main__':
    unittest.main(verbosity=2)
