"""The table generator on headers that NVIDIA has not written yet.

usage: generator_test.py GENERATOR COMPILER [COMPILER_ARGUMENT...]

Nothing that looks like an entry point may be dropped silently: what is not understood stops a strict
run, and is listed by another.
"""

import json
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


class Generated:
    """What the generator makes of a cuda.h with some more declarations in it."""

    def __init__(self, declarations, *options):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / 'cuda.h').write_text(DRIVER % declarations)
            (root / 'cuda_runtime_api.h').write_text(RUNTIME)
            (root / 'cuda_more.h').write_text('extern "C" CUresult cuElsewhere(int);\n')
            done = subprocess.run(
                [sys.executable, GENERATOR, '--output', str(root / 'out'), '--include', folder,
                 *options, '--', *COMPILER, '-nostdinc'],
                capture_output=True, text=True, check=False)
            self.status, self.messages = done.returncode, done.stderr
            rows = root / 'out' / 'rows.json'
            table = json.loads(rows.read_text())['tables']['driver'] if rows.exists() else None
        if table:
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

    def test_plain(self):
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

    def test_pointers_to_functions(self):
        self.check('CUresult cuThing(void (*callback)(void *user), void *user);',
                   ['void (*)(void * user)', 'void *'])

    def test_attributes_and_linkage(self):
        self.check('extern "C" __attribute__((deprecated)) CUresult cuThing(char *__restrict text);',
                   ['char *'])

    def test_other_results(self):
        self.check('const char *cuThing(int code);', ['int'], 'const char *')
        self.check('void cuThing(int code);', ['int'], 'void')

    def test_a_parameter_named_like_one_of_ours(self):
        self.check('CUresult cuThing(int status);', ['int'])

    def test_a_first_version_of_its_own(self):
        generated = Generated('CUresult cuThing(int); CUresult cuThing_v1(int);', '--strict')
        self.assertEqual(generated.status, 0, generated.messages)
        self.assertEqual(generated.rows['cuThing']['member'], 'cuThing')

    def test_the_headers_own_functions_are_no_entry_points(self):
        generated = Generated('static inline CUresult cuInit_twice(void) { return cuInit(0); }')
        self.assertNotIn('cuInit_twice', generated.rows)
        self.assertEqual(len(generated.left_out), 1)


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

    def test_a_name_in_parentheses(self):
        self.check('CUresult (cuThing)(int);')

    def test_a_function_declared_by_its_type(self):
        self.check('typedef CUresult Function(int); extern Function cuThing;')

    def test_variable_arguments(self):
        self.check('CUresult cuThing(int, ...);')

    def test_a_reference(self):
        self.check('CUresult cuThing(int &value);')

    def test_an_array_of_arrays(self):
        self.check('CUresult cuThing(int matrix[3][3]);')

    def test_a_trailing_result(self):
        self.check('auto cuThing(int) -> CUresult;')

    def test_views_that_disagree(self):
        self.check('#ifdef __CUDA_API_VERSION_INTERNAL\nCUresult cuThing(int);\n#else\n'
                   'CUresult cuThing(long);\n#endif')

    def test_a_declaration_in_a_header_that_is_not_read(self):
        self.check('}\n#include "cuda_more.h"\nextern "C" {')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
