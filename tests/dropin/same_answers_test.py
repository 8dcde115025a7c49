#!/usr/bin/env python3
"""Without a driver, every function of the runtime API answers as that of NVIDIA's static libcudart does, but
for the differences listed here."""

import ctypes
import re
import unittest

import toolbox
from binaries import defined_by_archive
from toolbox import HIDDEN, arguments, run

folder = toolbox.fresh_folder(__file__)
# These return no status: NAMES shows them.
NO_STATUS = {'cudaCreateChannelDesc', 'cudaGetErrorName', 'cudaGetErrorString'}
# And why.
DIFFERENT = {
    'cudaGetDeviceCount': 'it writes 0: programs look at the number alone',
    'cudaGetExportTable': "libcudart's tables of its own: 1 or 999, where the drop-in has none to give",
    'cudaGetLastError': "libcudart's answers 35 before any call failed, and again when it was taken",
    'cudaPeekAtLastError': 'as above',
}

# Once with nothing (pointers, numbers), once with pointers to memory of the program's. Without a driver no
# function gets as far as other arguments.
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
            self.skipTest('there is no libcudart_static.a beside the headers')
        if has_driver():
            self.skipTest('this machine has a driver')

    def answers(self, name, text, env=None):
        """What the program prints with NVIDIA's library, and with the drop-in."""
        source = folder / f'{name}.c'
        source.write_text(text, encoding='utf-8')
        for kind, libraries in (('static', [self.archive, '-lrt', '-ldl', '-pthread']),
                                ('dropin', HIDDEN)):
            program = toolbox.link(folder / f'{name}-{kind}', source, libraries=libraries)
            status, output = run(program, env=env or toolbox.absent())
            self.assertEqual(status, 0, output)
            yield output.splitlines()

    def test_of_every_function(self):
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

    def test_of_those_without_a_status(self):
        static, dropin = self.answers('names', NAMES)
        self.assertIn('35 cudaErrorInsufficientDriver', static)
        self.assertEqual(static, dropin)

    def test_where_the_only_libcuda_is_the_link_stub(self):
        """The static libcudart calls it, and passes on what it answers: 34. For the drop-in it is no driver.
        A shared libcudart beside it makes no difference."""
        root = self.archive.parent
        stub = next((place for place in (root / 'stubs/libcuda.so', root / 'lib64/stubs/libcuda.so')
                     if place.exists()), None)
        if stub is None:
            self.skipTest('there is no link stub of libcuda beside the static libcudart')
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

    def test_at_exit(self):
        """A libcudart that is loaded by the first call ends before the handlers that were registered earlier
        run, and answers 4 there. One that is found where there is no driver is not asked."""
        runtime = next(self.archive.parent.glob(arguments.fake_runtime.name), None)
        if runtime is None:
            self.skipTest('there is no libcudart beside the static one')
        static, dropin = self.answers('at_exit', EXIT_HANDLERS,
                                      toolbox.environment(LD_LIBRARY_PATH=str(runtime.parent)))
        self.assertEqual(static, [f'{when}: 35, 35, 35' for when in (
            'main', 'registered after it', 'registered before the first call',
            'registered before main')])
        self.assertEqual(static, dropin)


if __name__ == '__main__':
    unittest.main(argv=[__file__], verbosity=2)
