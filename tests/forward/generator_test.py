"""The table generator with synthetic headers.

usage: generator_test.py GENERATOR COMPILER [COMPILER_ARGUMENT...]

No declaration that looks like an entry point may be ignored silently: one that the generator does not understand
is an error in a strict run and is listed otherwise.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GENERATOR, *COMPILER = sys.argv[1:]

DRIVER = '''
#define CUDA_VERSION 13000
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 } CUresult;
typedef struct CUthing_st *CUthing;
extern "C" {
CUresult cuInit(unsigned int Flags);
%s
}
'''
RUNTIME = '''
#define CUDART_VERSION 13000
enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
typedef enum cudaError cudaError_t;
extern "C" { extern cudaError_t cudaFree(void *memory); }
'''

# As in CUDA.
PROFILER = '''
#include <cuda.h>
extern "C" {
typedef enum CUoutput_mode_enum { CU_OUT_KEY_VALUE_PAIR = 0, CU_OUT_CSV = 1 } CUoutput_mode;
__attribute__((deprecated)) CUresult cuProfilerInitialize(
    const char *configFile, const char *outputFile, CUoutput_mode outputMode);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
}
'''


def run_generator(root, *options):
    """Reads the headers in `root` and writes to its folder out."""
    return subprocess.run(
        [sys.executable, GENERATOR, '--output', str(root / 'out'), '--include', str(root),
         *options, '--', *COMPILER, '-nostdinc'],
        capture_output=True, text=True, check=False)


class Generated:
    """The output of the generator for a cuda.h with additional declarations, and for more headers."""

    def __init__(self, declarations, *options, driver=None, runtime=RUNTIME, **headers):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / 'cuda.h').write_text(DRIVER % declarations if driver is None else driver)
            (root / 'cuda_runtime_api.h').write_text(runtime)
            (root / 'cuda_more.h').write_text('extern "C" CUresult cuElsewhere(int);\n')
            for name, text in headers.items():
                (root / f'{name}.h').write_text(text)
            done = run_generator(root, *options)
            self.status = done.returncode
            self.messages = done.stderr.replace(folder + '/', '')
            rows = root / 'out' / 'rows.json'
            written = json.loads(rows.read_text()) if rows.exists() else None
        if written:
            table = written['tables']['driver']
            self.version = written['cuda_version']
            self.left_out = table['left_out']
            self.rows = {row['export']: row for row in table['rows']}

    def types(self, name):
        return [p['type'] for p in self.rows[name]['parameters']]


class Understood(unittest.TestCase):
    def check(self, declaration, types, result='CUresult'):
        generated = Generated(declaration, '--strict')
        self.assertEqual(generated.status, 0, generated.messages)
        self.assertEqual(generated.types('cuThing'), types)
        self.assertEqual(generated.rows['cuThing']['result'], result)

    def test_plain_declaration(self):
        self.check('CUresult cuThing(CUthing *thing, const char *name);',
                   ['CUthing *', 'const char *'])

    def test_no_parameters(self):
        self.check('CUresult cuThing(void);', [])
        self.check('CUresult cuThing();', [])

    def test_unnamed_parameters(self):
        self.check('CUresult cuThing(CUthing, unsigned int, const struct CUthing_st *);',
                   ['CUthing', 'unsigned int', 'const struct CUthing_st *'])

    def test_arrays_are_pointers(self):
        self.check('CUresult cuThing(unsigned int extent[3]);', ['unsigned int *'])

    def test_arrays_of_arrays(self):
        self.check('CUresult cuThing(int matrix[3][3], const char *(*texts)[2], int *all[2][3][4]);',
                   ['int (*)[3]', 'const char * (*)[2]', 'int * (*)[3][4]'])

    def test_pointers_to_functions(self):
        self.check('CUresult cuThing(void (*callback)(void *user), void *user);',
                   ['void (*)(void * user)', 'void *'])

    def test_attributes_and_linkage(self):
        self.check('extern "C" __attribute__((deprecated)) CUresult cuThing(char *__restrict text);',
                   ['char *'])

    def test_other_results(self):
        self.check('const char *cuThing(int code);', ['int'], 'const char *')
        self.check('void cuThing(int code);', ['int'], 'void')

    def test_parameter_with_a_name_that_the_table_uses(self):
        self.check('CUresult cuThing(int status);', ['int'])

    def test_name_with_a_v1_variant(self):
        generated = Generated('CUresult cuThing(int); CUresult cuThing_v1(int);', '--strict')
        self.assertEqual(generated.status, 0, generated.messages)
        self.assertEqual(generated.rows['cuThing']['member'], 'cuThing')

    def test_inline_functions_that_are_not_understood(self):
        generated = Generated('}\nstatic inline CUresult cuInit(const int &a) { return cuInit(*&a); }\nextern "C" {',
                              '--strict')
        self.assertEqual((generated.status, generated.messages), (0, ''))

    def test_parameters_that_are_macros(self):
        self.check('CUresult cuThing(int count, int cuInit);\n#define count 3', ['int', 'int'])

    def test_inline_functions_of_headers_are_left_out(self):
        generated = Generated('static inline CUresult cuInit_twice(void) { return cuInit(0); }')
        self.assertNotIn('cuInit_twice', generated.rows)
        self.assertEqual(len(generated.left_out), 1)


class Profiler(unittest.TestCase):
    def test_rows_exist_without_the_header(self):
        generated = Generated('', '--strict')
        self.assertEqual(generated.status, 0, generated.messages)
        self.assertEqual(generated.types('cuProfilerInitialize'),
                         ['const char *', 'const char *', 'unsigned int'])
        self.assertEqual(generated.types('cuProfilerStart'), [])
        self.assertEqual(generated.types('cuProfilerStop'), [])

    def test_rows_are_the_same_with_the_header(self):
        with_header = Generated('', '--strict', cudaProfiler=PROFILER)
        self.assertEqual(with_header.status, 0, with_header.messages)
        self.assertEqual(with_header.rows, Generated('', '--strict').rows)

    def test_newer_declarations_of_the_header_become_rows(self):
        newer = PROFILER + 'extern "C" CUresult cuProfilerPause(CUoutput_mode mode);\n'
        generated = Generated('', '--strict', cudaProfiler=newer)
        self.assertEqual(generated.types('cuProfilerPause'), ['unsigned int'])


class Versions(unittest.TestCase):
    def check(self, init, later, **headers):
        generated = Generated('CUresult cuLater(void);', '--strict', **headers)
        self.assertEqual(generated.status, 0, generated.messages)
        self.assertEqual(generated.rows['cuInit']['introduced'], init)
        self.assertEqual(generated.rows['cuLater']['introduced'], later)
        self.assertEqual(generated.rows['cuProfilerStart']['introduced'], 4000)

    def test_released_names_have_versions_without_cudaTypedefs_h(self):
        self.check(2000, 0)

    def test_cudaTypedefs_h_takes_precedence(self):
        self.check(9990, 99990, cudaTypedefs='PFN_cuInit_v9990 PFN_cuLater_v99990')

    def test_names_missing_in_cudaTypedefs_h_come_from_the_table(self):
        self.check(2000, 99990, cudaTypedefs='PFN_cuLater_v99990')


class NotUnderstood(unittest.TestCase):
    def check(self, declaration):
        strict = Generated(declaration, '--strict')
        self.assertNotEqual(strict.status, 0)
        self.assertIn('error', strict.messages)
        lenient = Generated(declaration)
        self.assertEqual(lenient.status, 0, lenient.messages)
        self.assertIn('warning', lenient.messages)
        self.assertEqual(len(lenient.left_out), 1, lenient.left_out)
        self.assertIn('cuInit', lenient.rows)

    def test_name_in_parentheses(self):
        self.check('CUresult (cuThing)(int);')

    def test_function_declared_by_its_type(self):
        self.check('typedef CUresult Function(int); extern Function cuThing;')

    def test_variable_arguments(self):
        self.check('CUresult cuThing(int, ...);')

    def test_reference(self):
        self.check('CUresult cuThing(int &value);')

    def test_functions_of_cxx(self):
        self.check('}\nCUresult cuThing(int);\nextern "C" {')

    def test_names_outside_ascii(self):
        self.check('CUresult cuThingé(int);')
        self.check('CUresult cuThing$(int);')

    def test_trailing_result(self):
        self.check('auto cuThing(int) -> CUresult;')

    def test_declarations_that_depend_on_the_mode(self):
        self.check('#ifdef __CUDA_API_VERSION_INTERNAL\nCUresult cuThing(int);\n#else\n'
                   'CUresult cuThing(long);\n#endif')

    def test_declaration_in_another_header(self):
        self.check('}\n#include "cuda_more.h"\nextern "C" {')


class Repeated(unittest.TestCase):
    """The build compiles only what depends on a file that was written."""

    def generate(self, root, declarations):
        """The names of the files that were written."""
        (root / 'cuda.h').write_text(DRIVER % declarations)
        (root / 'cuda_runtime_api.h').write_text(RUNTIME)
        for file in root.glob('out/*'):
            os.utime(file, (0, 0))
        done = run_generator(root)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {file.name for file in root.glob('out/*') if file.stat().st_mtime != 0}

    def test_only_changed_files_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertIn('runtime_table.hpp', self.generate(root, ''))
            self.assertEqual(self.generate(root, ''), set())
            written = self.generate(root, 'CUresult cuThing(int);')
            self.assertIn('driver_table.hpp', written)
            self.assertNotIn('runtime_table.hpp', written)


class Damaged(unittest.TestCase):
    """Headers without a usable table are one line of error, which names file and line."""

    def check(self, place, words, **headers):
        generated = Generated('', **headers)
        self.assertEqual(generated.status, 1)
        [line] = generated.messages.splitlines()
        self.assertRegex(line, rf'^generate_tables: {place}: ')
        self.assertIn(words, line)

    def version(self, text):
        return (DRIVER % '').replace('#define CUDA_VERSION 13000', text)

    def test_missing_bracket(self):
        for bracket in '([':
            declaration = f'CUresult cuThing(int);\nCUresult cuOther{bracket}int;'
            self.check(r'cuda\.h:8', f'{bracket} is never closed', driver=DRIVER % declaration)
        self.check(r'cuda_runtime_api\.h:6', '{ is never closed',
                   runtime=RUNTIME + 'struct cudaThing {')

    def test_compiler_errors(self):
        self.check(r'cuda\.h:8(:\d+)?', 'error', driver=DRIVER % '\n#if (\n#endif')
        self.check(r'cuda\.h:8(:\d+)?', 'unterminated', driver=DRIVER % '\n#if 1')

    def test_missing_version(self):
        self.check(r'cuda\.h:8', 'nothing here defines CUDA_VERSION', driver=self.version(''))

    def test_invalid_versions(self):
        for value in ('0', '7', 'thirteen', '"13"', '0x', '99999999', ''):
            self.check(r'cuda\.h:3', 'not a version of CUDA',
                       driver=self.version(f'\n#define CUDA_VERSION {value}'))

    def test_versions_in_other_notations(self):
        for value in ('13000', '0x32C8', '0X32c8', '13000u', '(13000)', '13000 /* 13.0 */'):
            generated = Generated('', driver=self.version(f'#define  CUDA_VERSION\t{value}'))
            self.assertEqual((generated.status, generated.messages), (0, ''))
            self.assertEqual(generated.version, 13000, value)

    def test_missing_statuses(self):
        self.check(r'cuda\.h:8', 'no enumeration',
                   driver=(DRIVER % '').replace('CUDA_SUCCESS', 'CUDA_FAILURE'))
        self.check(r'cuda_runtime_api\.h:5', 'no enumeration',
                   runtime=RUNTIME.replace('cudaSuccess', 'cudaFailure'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
