#!/usr/bin/env python3
"""MSVC's mode of clang accepts the public headers and the sources of the Windows build, without an extension of GCC
or clang. The generator understands the output of a compiler that takes MSVC's arguments."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import msvc

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / 'support'))
import options  # noqa: E402

arguments = options.of_command_line()
root, generated = arguments.path('root'), arguments.path('generated')
rows = json.loads(pathlib.Path(arguments.text('rows')).read_text(encoding='utf-8'))
# Also where the build's compiler finds them by itself.
cuda_folders = (arguments.all('system-include') or [rows['headers_folder']]) + arguments.all('library-headers')
folder = tempfile.TemporaryDirectory()
try:
    reader = msvc.Reader(folder.name, [str(root / 'include'), str(generated.parent.parent), str(generated),
                                       *(str(root / 'src' / name) for name in ('api', 'loader', 'dropin'))], cuda_folders)
except msvc.Unavailable as reason:
    print(reason)
    sys.exit(77)


def is_built(path):
    """The wrapper of a further library is built with the library's table."""
    is_wrapper = (root / f'src/api/libraries/{path.stem}.cpp').exists() and (
        root / f'include/cushim/{path.stem}.hpp').exists()
    return not is_wrapper or (generated.parent / f'{path.stem}_table.hpp').exists()


HEADERS = ''.join(f'#include <cushim/{name}>\n' for name in (
    *sorted(path.relative_to(root / 'include/cushim').as_posix()
            for path in (root / 'include/cushim').rglob('*.h*') if is_built(path)),
    *sorted(f'detail/{path.name}' for path in generated.glob('*.h*'))))

# Macros of the Windows SDK. mingw-w64 has most of them, but min and max only in C.
WINDOWS = '#include <windows.h>\n' + ''.join(f'#undef {name}\n#define {name}{value}\n' for name, value in {
    'min': '(a, b) (((a) < (b)) ? (a) : (b))', 'max': '(a, b) (((a) > (b)) ? (a) : (b))', 'near': '', 'far': '',
    'pascal': ' __stdcall', 'cdecl': '', 'small': ' char', 'hyper': ' __int64', 'interface': ' struct', 'IN': '', 'OUT': '',
    'OPTIONAL': '', 'CONST': ' const', 'ERROR': ' 0', 'DELETE': ' 0x00010000L', 'IGNORE': ' 0', 'ABSOLUTE': ' 1',
    'RELATIVE': ' 2', 'OPAQUE': ' 2', 'TRANSPARENT': ' 1', 'DIFFERENCE': ' 11'}.items())

# One on each line.
EXTENSIONS = '''int zero_size[0];
int statement() { return ({ 1; }); }
int variable_length(int n) { int values[n]; return (int)sizeof values; }
__attribute__((noinline)) void attribute();
[[gnu::cold]] void attribute_of_gnu();
struct Empty {}; struct Member { [[no_unique_address]] Empty empty; };
int branch(int value) { return __builtin_expect(value, 0); }
const char *signature() { return __PRETTY_FUNCTION__; }
__int128 wide;
void assembly() { __asm__("nop"); }
int conditional(int value) { return value ?: 1; }
struct Order { int a, b; }; Order order = {.b = 1, .a = 2};
struct Nested { struct { int x; } y; }; Nested nested = {.y.x = 1};
template <class T> typename T::type missing_typename() { T::type value; return value; }
int range(char c) { switch (c) { case 'a' ... 'z': return 1; default: return 0; } }
void *label() { here: return &&here; }
int read(int *place) { return __atomic_load_n(place, 2); }
#include <unistd.h>
ssize_t size_of_posix;
#pragma GCC diagnostic ignored "-Wall"
int shadowed(int value) { { int value = 1; (void)value; } return value; }
int narrowed(long long value) { return value; }
'''


class Code(unittest.TestCase):
    def found(self, name, text, known=reader.library):
        source = reader.write(name, text)
        return reader.rejected(source, known, *msvc.STRICT) + reader.foreign(source, known)

    def test_extensions_are_found(self):
        found = self.found('extensions.cpp', EXTENSIONS)
        lines = {int(text.split('extensions.cpp:')[1].split(':')[0]) for text in found if 'extensions.cpp:' in text}
        self.assertEqual([text for number, text in enumerate(EXTENSIONS.splitlines(), 1) if number not in lines], [])

    def test_headers(self):
        for name, macro in {'shared': '', 'static': '#define CUSHIM_STATIC\n', 'per thread':
                            '#define CUDA_API_PER_THREAD_DEFAULT_STREAM\n'}.items():
            with self.subTest(name):
                self.assertEqual(self.found('headers.cpp', macro + HEADERS), [])

    def test_headers_after_windows_h(self):
        self.assertEqual(self.found('after.cpp', HEADERS, reader.precompile('windows', WINDOWS)), [])

    def test_sources(self):
        sources = {'core': [*(root / 'src/loader').rglob('*.c'), *generated.glob('*_r*.c')],
                   'dropin': [*(root / 'src/dropin').glob('*.c'), *generated.glob('dropin_*.c')],
                   'api': [path for path in (root / 'src/api').rglob('*.cpp')
                           if 'posix' not in path.name and is_built(path)]}
        for part, paths in sources.items():
            self.assertGreater(len(paths), 2, part)
        # As in a build of shared libraries.
        macros = ''.join(f'#define CUSHIM_{name}\n' for name in (
            'VERSION_TEXT "1.2.3"', f'CUDA_VERSION {rows["cuda_version"]}', f'CUDA_MAJOR {rows["cuda_version"] // 1000}'))
        windows = '#define NOMINMAX\n#define WIN32_LEAN_AND_MEAN\n#include <windows.h>\n'
        known = {'core': reader.precompile('core', windows, macros + '#define CUSHIM_BUILDING_CORE\n', '.c'),
                 'dropin': reader.precompile('dropin', '', macros, '.c'),
                 'api': reader.precompile('api', windows, '#define CUSHIM_BUILDING\n#include "pch/cushim.hpp"\n')}

        def read(job):
            number, part, path = job
            source = reader.write(f'{number}{path.suffix}', f'#include "{path.as_posix()}"\n')
            return reader.rejected(source, known[part])

        jobs = [(number, part, path) for number, (part, path) in
                enumerate((part, path) for part, paths in sources.items() for path in sorted(paths))]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (_, _, path), found in zip(jobs, pool.map(read, jobs)):
                with self.subTest(path.name):
                    self.assertEqual(found, [])
        for part, paths in sources.items():
            with self.subTest(part):
                source = reader.write(f'{part}.cpp', ''.join(f'#include "{path.as_posix()}"\n' for path in paths))
                self.assertEqual(reader.foreign(source, known[part], attributes=False), [])


class Generator(unittest.TestCase):
    def rows_of(self, *words):
        with tempfile.TemporaryDirectory() as output:
            subprocess.run([sys.executable, root / 'tools/generate_tables.py', '--output', output, '--style', 'msvc',
                            *words], check=True)
            return json.loads(pathlib.Path(output, 'rows.json').read_text(encoding='utf-8'))

    def test_arguments_of_msvc(self):
        """Headers in a named folder, and in those that the compiler searches by itself."""
        named = [word for each in cuda_folders for word in ('--include', each)]
        found = [word for each in cuda_folders for word in ('-imsvc', each)]
        for words in ([*named, '--', *reader.cl()], ['--', *reader.cl(), *found]):
            made = self.rows_of(*words)
            self.assertEqual(made['tables'], rows['tables'])
            self.assertEqual(made['cuda_version'], rows['cuda_version'])


if __name__ == '__main__':
    unittest.main(verbosity=2)
