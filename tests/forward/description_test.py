"""Descriptions of further libraries, with a synthetic library.

usage: description_test.py GENERATOR INCLUDE COMPILER [COMPILER_ARGUMENT...]

A mistake in a description is one line of error that names file and line. INCLUDE is the folder of cushim's
headers.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

GENERATOR, INCLUDE, *COMPILER = sys.argv[1:]
LIBRARIES = pathlib.Path(GENERATOR).parent / 'tables/libraries'

DESCRIPTION = '''\
# A library for this test.
title = The thing
headers = thing.h
functions = thing[A-Z]*
major = THING_MAJOR
required = thingInit
linux = libthing.so.{major}
absent thingStatus = THING_ABSENT
missing thingStatus = THING_MISSING
absent const char * = explanation
'''
HEADER = '''
#define THING_MAJOR 3
typedef enum { THING_OK, THING_ABSENT, THING_MISSING } thingStatus;
typedef struct { double x, y, z; } thingPoint;
#ifdef __cplusplus
extern "C" {
#endif
thingStatus thingInit(void);
const char *thingText(thingStatus status);
%s
#ifdef __cplusplus
}
#endif
'''


class Run:
    """One run of the generator; the files that it wrote, and its messages without the folder's name."""

    def __init__(self, description=DESCRIPTION, declarations='', *options, name='thing', header=None,
                 library=None, output='out', compiler=COMPILER):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / f'{name}.txt').write_text(description, encoding='utf-8')
            (root / 'thing.h').write_text(HEADER % declarations if header is None else header)
            done = subprocess.run(
                [sys.executable, GENERATOR, '--output', str(root / output), '--include', str(root),
                 *options, library or str(root / f'{name}.txt'), '--', *compiler],
                capture_output=True, text=True, check=False)
            self.status = done.returncode
            self.messages = done.stderr.replace(folder + '/', '').replace(folder, 'ROOT')
            self.files = {file.name: file.read_text() for file in (root / 'out').glob('*')}
        facts = json.loads(self.files.get(f'{name}_rows.json', '{"rows": [], "left_out": []}'))
        self.rows = {row['export']: row for row in facts['rows']}
        self.left_out = facts['left_out']


class Mistakes(unittest.TestCase):
    def check(self, description, place, words, **more):
        run = Run(description, **more)
        self.assertEqual(run.status, 1, run.messages)
        [line] = run.messages.splitlines()
        self.assertTrue(line.startswith(f'generate_library: {place}: '), line)
        self.assertIn(words, line)

    def added(self, lines, words, line=11):
        """The mistake is in a line after the others."""
        self.check(DESCRIPTION + lines, f'thing.txt:{line}', words)

    def without(self, key):
        return ''.join(line + '\n' for line in DESCRIPTION.splitlines() if not line.startswith(key))

    def test_lines(self):
        self.added('some words', 'expected KEY = VALUE, not: some words')
        self.added('hint =', 'expected KEY = VALUE')
        self.added('hint = a\0b', "expected characters that can be printed, not: 'hint = a\\x00b'")
        self.added('hint = a\u202eb', 'expected characters that can be printed')
        self.added('colour = blue', 'unknown key colour; known: title, headers')
        self.added('title = Other', 'title is already given in line 2')
        self.added('absent thingStatus = THING_OK', 'absent thingStatus is already given in line 8')
        self.added('linux 2 = libthing.so\nlinux 2 = libthing.so.2', 'linux 2 is already given in line 11',
                   line=12)

    def test_values(self):
        self.added('places = driver shelf', 'unknown place shelf; known: driver, toolkit')
        self.added('macro = A B', 'A B is not a name')
        self.added('links = cublas libcusparse.so', 'libcusparse.so is not the name of a library')
        self.added('except = thing{A}', 'thing{A} is not a pattern')
        self.added('version = thingVersion', 'expected FUNCTION major-minor')
        self.added('version = thingVersion written 0 1', 'expected FUNCTION major-minor')
        self.added('version = thingVersion written 2147483648 1', 'with units from 1 to 2147483647')
        self.added('version = thingVersion written \u00b2 1', 'expected FUNCTION major-minor')
        self.added('windows x = thing.dll', 'x is not a major version')
        self.added('windows \u00b2 = thing.dll', 'is not a major version')
        self.added('hint = say "please"', 'hint must not contain "')
        self.added('absent void = 3', 'functions with the result void return nothing')
        for title in ('A */ B', 'A /* B', 'A ??/'):
            self.check(DESCRIPTION.replace('The thing', title), 'thing.txt:2', 'title must not contain')
        self.check(DESCRIPTION.replace('thing[A-Z]*', '*'), 'thing.txt:4', '* is not a pattern')

    def test_missing_lines(self):
        for key in ('title', 'headers', 'functions', 'required'):
            self.check(self.without(key), 'thing.txt:9', f'the line "{key} = ..." is missing')
        self.check(self.without('linux'), 'thing.txt:9', 'a line with file names is missing')
        self.check(self.without('major'), 'thing.txt:6', 'needs the line "major = ..."')
        self.check(self.without('major').replace('.{major}', '') + 'linux 2 = libthing.so.2\n',
                   'thing.txt:10', 'needs the line "major = ..."')

    def test_names_of_libraries(self):
        self.check(DESCRIPTION, 'Thing.txt:1', 'Thing cannot be the name of a library', name='Thing')
        for name in ('driver', 'int', 'new', 'and', 'false', 'unix', 'linux', 'disable', 'std', 'init', 'visit',
                     'choose', 'first_call', 'load_driver', 'load_runtime', 'feature_count', 'allocation_alignment'):
            self.check(DESCRIPTION, f'{name}.txt:1', f'{name} cannot be the name', name=name)
        self.check(DESCRIPTION, 'thing.txt:1', 'thing cannot be the name of a library: it is a macro',
                   declarations='#define thing 1')
        run = Run(library='cusomething')
        self.assertIn('no library is called cusomething; known: cublas, cublaslt, ', run.messages)

    def test_name_for_the_linker(self):
        linux = 'linux = libthing.so.{major}\n'
        for line, name in ((linux, 'thing'), ('linux  =  libthing-ml.so.1 libthing.so\n', 'thing-ml'),
                           ('linux = thing.plugin\n', ''), ('windows = thing.dll\n', '')):
            with self.subTest(line), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder, 'thing.txt')
                path.write_text(DESCRIPTION.replace(linux, line), encoding='utf-8')
                done = subprocess.run([sys.executable, GENERATOR, '--link-name', path], capture_output=True, text=True,
                                      check=False)
                self.assertEqual((done.returncode, done.stdout), (0, f'{name}\n'), done.stderr)

    def test_functions_of_cuda(self):
        for pattern in ('cu*', 'cuInit', 'cuMem[A-Z]*'):
            self.check(DESCRIPTION.replace('thing[A-Z]*', f'thing* {pattern}'), 'thing.txt:4',
                       'is a function of the CUDA driver')
        self.check(DESCRIPTION.replace('thing[A-Z]*', 'thing* cuda*'), 'thing.txt:4',
                   'cudaFree is a function of the CUDA runtime', declarations='thingStatus cudaFree(void *);')
        run = Run(DESCRIPTION.replace('thing[A-Z]*', 'thing* cuFile*'), 'thingStatus cuFileOpen(int);', '--strict')
        self.assertIn('cuFileOpen', run.rows)

    def test_missing_file(self):
        self.assertIn('nowhere.txt:1: cannot be read', Run(library='nowhere.txt').messages)

    def test_headers_that_are_not_found(self):
        run = Run(DESCRIPTION.replace('thing.h', 'thing.h other.h'))
        self.assertEqual(run.status, 1)
        self.assertIn('other.h, a header of The thing, was not found in:\n  ROOT\n', run.messages)
        run = Run(DESCRIPTION.replace('thing.h', 'other.h') + 'wheels = nvidia-thing nvidia-thing-cu12')
        self.assertIn('\nThe wheel nvidia-thing or nvidia-thing-cu12 has it: pip download', run.messages)

    def test_headers_without_such_functions(self):
        self.check(DESCRIPTION.replace('thing[A-Z]*', 'other*'), 'thing.txt:4',
                   'thing.h declare no function with such a name')

    def test_functions_that_the_headers_lack(self):
        self.added('version = thingVersion major-minor', 'thing.h declare no function thingVersion')
        self.check(DESCRIPTION.replace('thingInit', 'thingInti'), 'thing.txt:6',
                   'thing.h declare no function thingInti')

    def test_results_that_do_not_compile(self):
        for line in ('absent thingInit = THING_NOPE', 'absent thingInit = 3', 'absent thingInit = explanation',
                     'absent thingInit = (THING_OK', 'missing thingText = THING_MISSING',
                     'absent thingInit = THING_OK // x'):
            self.added(line, f'the code for "{line}" does not compile: ')
        self.check(DESCRIPTION + 'absent char * = explanation', 'thing.txt:11', 'does not compile',
                   declarations='char *thingName(void);')
        run = Run(DESCRIPTION + 'absent thingPoint = {}\nabsent int = n\nabsent void * = NULL',
                  'thingPoint thingHere(int); int thingCount(int n); void *thingMake(int thingInit);', '--strict')
        self.assertEqual((run.status, run.messages), (0, ''))

    def test_headers_that_do_not_compile(self):
        self.check(DESCRIPTION.replace('thing.h', 'thing.h thing.h'), 'thing.txt:3',
                   'the code for "headers = thing.h thing.h" does not compile: ')
        self.check(DESCRIPTION, 'thing.txt:3', 'the code for "headers = thing.h" does not compile: ',
                   declarations='thingStatus thingMore(thingLater);')
        self.check(DESCRIPTION + 'macro = THING_ALL', 'thing.txt:11',
                   'the code for "macro = THING_ALL" does not compile: ',
                   declarations='#ifdef THING_ALL\ntypedef struct { int a; } thingHidden;\n'
                   'thingStatus thingOpen(thingHidden *);\n#endif')

    def test_functions_that_macros_rename(self):
        header = (HEADER % '#define thingInit thingInit_v2').replace('thingInit(', 'thingInit_v2(')
        run = Run(header=header)
        self.assertEqual((run.status, run.messages), (0, ''))

    def test_results_that_no_function_has(self):
        for line in ('absent thingStatsu = 4', 'missing thingOpne = THING_OK'):
            key = line.partition(' =')[0]
            words = f'no function of thing.h needs the line "{key} = ..."'
            lenient, strict = Run(DESCRIPTION + line), Run(DESCRIPTION + line, '', '--strict')
            self.assertEqual((lenient.status, lenient.messages),
                             (0, f'generate_library: warning: thing.txt:11: {words}\n'))
            self.assertEqual((strict.status, strict.messages),
                             (1, f'generate_library: thing.txt:11: {words}\n'))

    def test_compilers_and_folders_that_do_not_exist(self):
        run = Run(compiler=['no-such-compiler'])
        self.assertEqual(run.status, 1)
        self.assertRegex(run.messages, r'^generate_library: no-such-compiler: the compiler cannot be run: '
                         r'[^\n]*\n$')
        run = Run(output='thing.h/out')
        self.assertEqual(run.status, 1)
        self.assertRegex(run.messages, r'^generate_library: thing\.h.* cannot be written: [^\n]*\n$')

    def test_versions_that_are_no_number(self):
        for text in ('', '"3"', '-1', 'UNKNOWN'):
            self.check(DESCRIPTION, 'thing.txt:5', 'which is not a version',
                       header=(HEADER % '').replace('THING_MAJOR 3', f'THING_MAJOR {text}'))


class Versions(unittest.TestCase):
    def test_the_major_version_is_an_expression_of_the_preprocessor(self):
        for expression, expected in {
                'THING_MAJOR > 1 ? 2 : 1': 2, 'THING_MAJOR == 4': 0, 'defined(OTHER)': 0, 'THING_MAJOR && 1': 1, '!(THING_MAJOR == 4)': 1,
                'defined(THING_MAJOR) + 0x10': 17, '-7 / 2 + 6': 3, '3ul << 18': 786432}.items():
            run = Run(DESCRIPTION.replace('= THING_MAJOR', f'= {expression}'))
            self.assertEqual(run.status, 0, run.messages)
            self.assertIn(f'"libthing.so.{expected}"', run.files['thing_loadable.cpp'])

    def test_expressions_that_are_no_version(self):
        for expression in ('OTHER_MAJOR', 'THING_MAJOR + OTHER', '-THING_MAJOR', 'THING_MAJOR / 0', '1 << 20', '(3'):
            run = Run(DESCRIPTION.replace('= THING_MAJOR', f'= {expression}'))
            self.assertEqual(run.status, 1)
            self.assertIn(f'thing.txt:5: {expression} is ', run.messages)

    def test_expressions_that_differ_elsewhere(self):
        for expression in ('__LINE__', '__COUNTER__', '__cplusplus / 100', '3) || (0'):
            run = Run(DESCRIPTION.replace('= THING_MAJOR', f'= {expression}'))
            self.assertEqual(run.status, 1, expression)
            self.assertIn(f'thing.txt:5: the code for "major = {expression}" does not compile: ',
                          run.messages)

    def test_major_version_0(self):
        description = DESCRIPTION + 'version = thingVersion major-minor\n'
        header = HEADER % 'void thingVersion(int *, int *);'
        for major in ('0', '3'):
            files = Run(description, header=header.replace('MAJOR 3', f'MAJOR {major}')).files
            self.assertIn(f'"libthing.so.{major}"', files['thing_loadable.cpp'])
            self.assertIn(f'.major = {major},', files['thing_loadable.cpp'])
            self.assertIn(f'#if (THING_MAJOR) != {major}\n', files['thing_table.hpp'])
        self.assertIn('.major = -1,', Run(DESCRIPTION).files['thing_loadable.cpp'])

    def test_the_macro_is_defined_by_another_header(self):
        # Its functions are those of other libraries.
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / 'whole.h').write_text(
                '#include <thing.h>\n#define WHOLE_MAJOR 7\nextern "C" thingStatus thingOther(int);\n')
            whole = DESCRIPTION.replace('THING_MAJOR', 'WHOLE_MAJOR')
            run = Run(whole + 'major_header = whole.h\n', '', '--strict', '--include', folder,
                      header='#pragma once\n' + HEADER % '')
            self.assertEqual((run.status, run.messages), (0, ''))
            self.assertEqual(set(run.rows), {'thingInit', 'thingText'})
            self.assertIn('#include <whole.h>\n#if (WHOLE_MAJOR) != 7\n', run.files['thing_table.hpp'])
            self.assertIn('thing.txt:5: WHOLE_MAJOR is WHOLE_MAJOR in thing.h', Run(whole).messages)
        self.assertIn('whole.h, a header of The thing, was not found',
                      Run(whole + 'major_header = whole.h').messages)

    def test_names_of_one_major_version_have_the_version_of_cuda(self):
        header = {'header': HEADER % '#include "cuda.h"'}
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / 'cuda.h').write_text('#define CUDA_VERSION 12040\n')
            for line, name in (('linux 3 = libthing.so.{cuda}', '"libthing.so.12"'),
                               ('windows 3 = thing{cuda}.dll', '"thing12.dll"'),
                               ('linux 4 = libthing.so.{cuda}', '"libthing.so.3"')):
                run = Run(DESCRIPTION + line, '', '--include', folder, **header)
                self.assertEqual(run.status, 0, run.messages)
                self.assertIn(name, run.files['thing_loadable.cpp'])


class Depfile(unittest.TestCase):
    def test_names_with_blanks_are_escaped(self):
        with tempfile.TemporaryDirectory(prefix='a b$c#') as folder:
            root = pathlib.Path(folder)
            (root / 'thing.h').write_text(HEADER % '')
            (root / 'thing.txt').write_text(DESCRIPTION)
            subprocess.run(
                [sys.executable, GENERATOR, '--output', folder, '--include', folder,
                 '--depfile', str(root / 'depfile'), str(root / 'thing.txt'), '--', *COMPILER],
                check=True)
            text = (root / 'depfile').read_text()
        escaped = str(root).replace('\\', '/').replace(' ', '\\ ').replace('$', '$$').replace('#', '\\#')
        target, _, files = text.replace('\\thing', '/thing').partition(': ')
        self.assertEqual(target, f'{escaped}/thing_library.h')
        self.assertIn(f'{escaped}/thing.h ', files)
        self.assertIn(f'{escaped}/thing.txt ', files)


class Results(unittest.TestCase):
    def test_expressions_by_type_and_function(self):
        run = Run(DESCRIPTION + 'absent size_t = 0\nabsent thingOther = THING_MISSING\n',
                  '#include <stddef.h>\nsize_t thingSize(void); thingStatus thingOther(int);'
                  'void thingNothing(int *);', '--strict')
        self.assertEqual(run.status, 0, run.messages)
        found = {name: (row.get('absent'), row.get('missing')) for name, row in run.rows.items()}
        self.assertEqual(found, {
            'thingInit': ('THING_ABSENT', 'THING_MISSING'), 'thingSize': ('0', '0'),
            'thingText': ('explanation', 'explanation'), 'thingNothing': (None, None),
            'thingOther': ('THING_MISSING', 'THING_MISSING')})

    def test_types_without_an_expression(self):
        lenient = Run(DESCRIPTION, 'double thingValue(void);')
        self.assertEqual(lenient.status, 0, lenient.messages)
        self.assertNotIn('thingValue', lenient.rows)
        self.assertEqual(lenient.left_out,
                         ['thingValue [thing.txt has no line "absent double = ..."]'])
        strict = Run(DESCRIPTION, 'double thingValue(void);', '--strict')
        self.assertEqual(strict.status, 1)
        self.assertIn('error: not understood in thing.h, thingValue', strict.messages)


class Understood(unittest.TestCase):
    def rows(self, declarations, description=DESCRIPTION):
        run = Run(description, declarations, '--strict')
        self.assertEqual(run.status, 0, run.messages)
        return run.rows

    def test_renaming_macros(self):
        rows = self.rows('#define thingOpen thingOpen_v2\nthingStatus thingOpen(int);')
        self.assertEqual(rows['thingOpen_v2']['member'], 'thingOpen_v2')
        self.assertNotIn('thingOpen', rows)

    def test_first_versions_behind_a_macro(self):
        rows = self.rows('''
#ifdef THING_ALL
thingStatus thingOpen(int);
#else
#define thingOpen thingOpen_v2
#endif
thingStatus thingOpen_v2(long);''', DESCRIPTION + 'macro = THING_ALL\n')
        self.assertEqual(rows['thingOpen']['member'], 'thingOpen_v1')
        self.assertEqual(rows['thingOpen_v2']['parameters'][0]['type'], 'long')

    def test_inline_functions_over_versioned_names(self):
        rows = self.rows('thingStatus thingOpen_3_1(const int *p, int n);\n'
                         'static inline thingStatus thingOpen(int *p, int n)\n'
                         '{ return thingOpen_3_1 (p, n); }\n'
                         'static inline thingStatus thingTwice(int *p, int n)\n'
                         '{ thingOpen(p, n); return thingOpen_3_1(p, n); }')
        self.assertEqual(rows['thingOpen_3_1']['member'], 'thingOpen')
        self.assertNotIn('thingTwice', rows)

    def test_overloads_of_headers_are_no_exports(self):
        rows = self.rows('''thingStatus thingOpen(int);
#ifdef __cplusplus
}
static inline thingStatus thingOpen(double v) { return thingOpen((int)v); }
inline thingStatus thingOpen(long v, long w) { return thingOpen((int)(v + w)); }
extern "C" {
#endif''')
        self.assertEqual([p['type'] for p in rows['thingOpen']['parameters']], ['int'])

    def test_classes_that_call_functions(self):
        rows = self.rows('#ifdef __cplusplus\n}\nclass Thing { public: Thing() { thingInit(); } };\n'
                         'extern "C" {\n#endif')
        self.assertEqual(set(rows), {'thingInit', 'thingText'})

    def test_structs_by_value_and_callbacks(self):
        rows = self.rows('thingStatus thingMove(thingPoint p, void (*done)(thingPoint, void *), '
                         'const char *const names[]);')
        self.assertEqual([p['type'] for p in rows['thingMove']['parameters']],
                         ['thingPoint', 'void (*)(thingPoint, void *)', 'const char * const *'])

    def test_functions_of_other_libraries(self):
        rows = self.rows('void thingLtOpen(int); int otherOpen(int);',
                         DESCRIPTION + 'except = thingLt*\n')
        self.assertEqual(set(rows), {'thingInit', 'thingText'})

    def test_names_that_cushim_uses(self):
        used = ('pfn', 'cushim_thing', 'thing_library', 'name', 'slot', 'first', 'detail', 'Result', 'ThingTablePart0')
        run = Run(DESCRIPTION.replace('thing[A-Z]*', 'thing[A-Z]* ' + ' '.join(used)),
                  ''.join(f'thingStatus {name}(int);' for name in used))
        self.assertEqual((set(run.rows), len(run.left_out)), ({'thingInit', 'thingText'}, len(used)))

    def test_headers_for_c_alone(self):
        plain = HEADER.replace('extern "C"', 'namespace {} struct Unused') % ''
        run = Run(header=plain.replace('struct Unused {', '').replace('#ifdef __cplusplus\n}\n#endif', ''))
        self.assertEqual(run.status, 1)
        self.assertIn('declare no function with such a name\nthingStatus thingInit(void) [outside extern "C"]', run.messages)
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / 'plain.h').write_text('int thing_plain(int);\n')
            run = Run(DESCRIPTION.replace('thing[A-Z]*', 'thing*') + 'absent int = 0', '', '--strict', '--include', folder,
                      header=HEADER % '#include "plain.h"')
            self.assertIn('thing_plain', run.rows)

    def test_what_is_not_understood(self):
        run = Run(DESCRIPTION, 'thingStatus thingPrint(const char *, ...);')
        self.assertEqual(run.status, 0)
        self.assertEqual(len(run.left_out), 1)
        self.assertEqual(Run(DESCRIPTION, 'thingStatus thingPrint(const char *, ...);',
                             '--strict').status, 1)


class Generated(unittest.TestCase):
    """The generated files, compiled with the headers of a program."""

    def compile(self, header, files, expected=0):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).write_text(text)
            if header is not None:
                (root / 'thing.h').write_text(header)
            done = subprocess.run(
                [*COMPILER, '-std=c++20', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', f'-I{INCLUDE}', f'-I{root}',
                 '-x', 'c++', *(str(root / name) for name in files if name.endswith('.cpp'))],
                capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, expected, done.stderr)
            return done.stderr

    def files(self):
        run = Run(DESCRIPTION, 'void thingNothing(thingPoint);', '--strict')
        self.assertEqual(run.status, 0, run.messages)
        return {name: text for name, text in run.files.items() if not name.endswith('.json')}

    def test_files_compile_without_cuda(self):
        files = self.files()
        self.assertEqual(set(files), {f'thing_{ending}' for ending in (
            'library.h', 'table.hpp', 'entry.hpp', 'loadable.cpp', 'rows.cpp', 'registry.cpp',
            'dropin.cpp')})
        self.compile(HEADER % 'void thingNothing(thingPoint);', files)

    def test_declarations_compile_as_they_are(self):
        declarations = ('void thingQuiet(int) CUSHIM_NOTHROW; thingStatus thingNames(int cushim_status, int cushim_slot_f, '
                        'int thingNames, int thing, int argument0, int count);\n'
                        '#define count 3\n').replace('CUSHIM_NOTHROW', 'noexcept(true)')
        declarations += 'thingStatus rows(int); thingStatus visit_rows(int); thingStatus thing_omitted(int);'
        run = Run(DESCRIPTION.replace('thing[A-Z]*', 'thing[A-Z]* *rows thing_*'), declarations, '--strict')
        self.assertEqual(run.status, 0, run.messages)
        self.compile(HEADER % declarations, {name: text for name, text in run.files.items() if not name.endswith('.json')})

    def test_two_libraries_with_one_function(self):
        runs = [Run(DESCRIPTION.replace('linux = libthing', f'linux = lib{name}'), '', '--strict', name=name)
                for name in ('thing', 'thing_b')]
        symbols = [set(re.findall(r'cushim_(?:slot|row)_\w+', run.files[f'{name}_rows.cpp']))
                   for run, name in zip(runs, ('thing', 'thing_b'))]
        self.assertIn('cushim_slot_thing_thingInit', symbols[0])
        self.assertEqual((len(symbols[0]), symbols[0] & symbols[1]), (4, set()))

    def test_headers_of_another_version(self):
        header = (HEADER % 'void thingNothing(thingPoint);').replace('MAJOR 3', 'MAJOR 4')
        self.assertIn("cushim's table of The thing was generated from headers of version 3",
                      self.compile(header, self.files(), 1))

    def test_headers_that_the_program_lacks(self):
        self.assertIn('thing.h not found. Add -I with the folder of the headers of The thing.',
                      self.compile(None, self.files(), 1))


class Shipped(unittest.TestCase):
    def test_descriptions_have_no_mistakes(self):
        sys.path.insert(0, str(pathlib.Path(GENERATOR).parent))
        from tables import description
        self.assertGreaterEqual(len(description.shipped()), 15)
        for name in description.shipped():
            described = description.read(description.path_of(name))
            self.assertTrue(described.functions.fullmatch(described.values['required']), name)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
