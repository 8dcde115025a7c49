#!/usr/bin/env python3
"""Without a driver, every function of the runtime API returns what NVIDIA's static libcudart returns, except for
the differences listed here."""

import ctypes
import re
import unittest

import toolbox
from binaries import defined_by_archive
from toolbox import HIDDEN, arguments, run

folder = toolbox.fresh_folder(__file__)
# These return no status; NAMES calls them.
NO_STATUS = {'cudaCreateChannelDesc', 'cudaGetErrorName', 'cudaGetErrorString'}
# The functions that differ, and why.
DIFFERENT = {
    'cudaGetDeviceCount': 'it writes 0, for programs that check only the count',
    'cudaGetExportTable': "the internal tables of libcudart: 1 or 999, the drop-in has no tables",
    'cudaGetLastError': "libcudart returns 35 before any call failed, and again after it was read",
    'cudaPeekAtLastError': 'as above',
}

# Calls each function once with zeros and once with pointers to memory of the program. Without a driver,
# functions return before they look at other arguments.
PROGRAM = '''
#include <stdio.h>
#include <string.h>
#define NOTHING 0, 0, 0, 0, 0, 0
typedef int Function(void *, void *, void *, void *, void *, void *,
                     void *, void *, void *, void *, void *, void *);
extern Function {names};
static unsigned char memory[6][4096];
static int touched(void) {{
    const unsigned char *byte = memory[0];
    for (size_t i = 0; i < sizeof memory; ++i) {{
        if (byte[i] != 0x55) {{
            return 1;
        }}
    }}
    return 0;
}}
static void ask(const char *name, Function *function) {{
    cudaGetLastError(NOTHING, NOTHING);
    memset(memory, 0x55, sizeof memory);
    const int of_nothing = function(NOTHING, NOTHING);
    cudaGetLastError(NOTHING, NOTHING);
    const int of_memory = function(memory[0], memory[1], memory[2], memory[3], memory[4], memory[5],
                                   NOTHING);
    printf("%s %d %d", name, of_nothing, of_memory);
    if (touched()) {{
        int number;
        memcpy(&number, memory[0], sizeof number);
        printf(" wrote %d", number);
    }}
    puts("");
}}
int main(void) {{
    {calls}
    return 0;
}}
'''
NAMES = '''
#include <cuda_runtime_api.h>
#include <stdio.h>
int main(void) {
    for (int code = -1; code <= 10001; ++code) {
        printf("%d %s\\n", code, cudaGetErrorName((cudaError_t)code));
    }
    const struct cudaChannelFormatDesc made =
        cudaCreateChannelDesc(8, 16, 24, 32, cudaChannelFormatKindFloat);
    printf("%d %d %d %d %d\\n", made.x, made.y, made.z, made.w, (int)made.f);
    return 0;
}
'''

STUB = '''
#include <cuda_runtime_api.h>
#include <stdio.h>
int main(void) {
    int count = 77;
    void *memory = NULL;
    const cudaError_t counted = cudaGetDeviceCount(&count);
    const int allocated = cudaMalloc(&memory, 16), last = cudaGetLastError();
    printf("%d %s, %d devices, then %d, %d\\n", (int)counted, cudaGetErrorName(counted), count, allocated, last);
    return 0;
}
'''

EXIT_HANDLERS = '''
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
static void ask(const char *when) {
    int count = 0;
    void *memory = NULL;
    const int counted = cudaGetDeviceCount(&count), last = cudaGetLastError();
    printf("%s: %d, %d, %d\\n", when, counted, last, cudaMalloc(&memory, 16));
    fflush(stdout);
}
static void of_constructor(void) { ask("registered before main"); }
static void of_main(void) { ask("registered before the first call"); }
static void late(void) { ask("registered after it"); }
__attribute__((constructor)) static void construct(void) { atexit(of_constructor); }
int main(void) {
    atexit(of_main);
    ask("main");
    atexit(late);
    return 0;
}
'''


def has_driver():
    try:
        ctypes.CDLL('libcuda.so.1')
        return True
    except OSError:
        return False


class SameAnswers(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.archive = toolbox.static_runtime()
        if self.archive is None:
            self.skipTest('libcudart_static.a was not found')
        if has_driver():
            self.skipTest('this machine has a driver')

    def answers(self, name, text, env=None):
        """The output of the program linked to NVIDIA's library, and linked to the drop-in."""
        source = folder / f'{name}.c'
        source.write_text(text, encoding='utf-8')
        for kind, libraries in (('static', [self.archive, '-lrt', '-ldl', '-pthread']),
                                ('dropin', HIDDEN)):
            program = toolbox.link(folder / f'{name}-{kind}', source, libraries=libraries)
            status, output = run(program, env=env or toolbox.absent())
            self.assertEqual(status, 0, output)
            yield output.splitlines()

    def test_every_function_returns_the_same_status(self):
        both = defined_by_archive(self.archive) & defined_by_archive(arguments.dropin)
        names = sorted(name for name in both if re.match('cuda[A-Z]', name) and name not in NO_STATUS)
        self.assertGreater(len(names), 300)
        calls = '\n    '.join(f'ask("{name}", {name});' for name in names)
        static, dropin = self.answers('every', PROGRAM.format(names=', '.join(names), calls=calls))
        self.assertEqual(len(static), len(names))
        self.assertIn('cudaDriverGetVersion 1 0 wrote 0', static)
        differ = {line.split()[0]: (line, mine) for line, mine in zip(static, dropin)
                  if line != mine}
        for line, mine in differ.values():
            print(f'{line}; the drop-in: {mine}')
        self.assertEqual(set(differ), set(DIFFERENT))

    def test_functions_without_a_status_return_the_same(self):
        static, dropin = self.answers('names', NAMES)
        self.assertIn('35 cudaErrorInsufficientDriver', static)
        self.assertEqual(static, dropin)

    def test_link_stub_counts_as_no_driver(self):
        """The static libcudart calls the stub and returns its status, 34. The drop-in ignores the stub, with or
        without a shared libcudart beside it."""
        root = self.archive.parent
        stub = next((place for place in (root / 'stubs/libcuda.so', root / 'lib64/stubs/libcuda.so')
                     if place.exists()), None)
        if stub is None:
            self.skipTest('the link stub of libcuda was not found beside the static libcudart')
        for runtime in (None, next(root.glob(arguments.fake_runtime.name), None)):
            place = folder / f'stub-{"alone" if runtime is None else "and-libcudart"}'
            place.mkdir()
            (place / 'libcuda.so.1').symlink_to(stub)
            if runtime is not None:
                (place / runtime.name).symlink_to(runtime)
            static, dropin = self.answers(place.name, STUB,
                                          toolbox.environment(LD_LIBRARY_PATH=str(place)))
            self.assertEqual(static, ['34 cudaErrorStubLibrary, 77 devices, then 34, 34'])
            self.assertEqual(dropin, ['35 cudaErrorInsufficientDriver, 0 devices, then 35, 35'])

    def test_exit_handlers_get_the_same_statuses(self):
        """A libcudart that the first call loads shuts down before earlier registered exit handlers run, and
        returns 4 to them. Without a driver, the drop-in does not call a libcudart that it finds."""
        runtime = next(self.archive.parent.glob(arguments.fake_runtime.name), None)
        if runtime is None:
            self.skipTest('the shared libcudart was not found beside the static one')
        static, dropin = self.answers('at_exit', EXIT_HANDLERS,
                                      toolbox.environment(LD_LIBRARY_PATH=str(runtime.parent)))
        self.assertEqual(static, [f'{when}: 35, 35, 35' for when in (
            'main', 'registered after it', 'registered before the first call',
            'registered before main')])
        self.assertEqual(static, dropin)


if __name__ == '__main__':
    unittest.main(argv=[__file__], verbosity=2)
