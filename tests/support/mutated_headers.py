"""Mutations of header texts, which the generator of tables must survive: it reports damage by one line, and leaves out
what it does not understand. For declarations_test.py and the fuzzer of tests/fuzz."""

import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / 'tools'))
from tables import declarations, description, emit_headers, emit_library, emit_sources, library, model  # noqa: E402

SEED = r'''
# 1 "cuda.h"
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 } CUresult;
typedef struct CUthing_st { int x[3]; void (*cuMember)(int); } *CUthing, CUthings;
typedef unsigned long long CUlong; typedef CUlong CUother; typedef CUresult (*CUcallback)(CUthing, void *);
namespace std { inline namespace __1 __attribute__((__abi_tag__("x"))) { template <class T = void> struct pair; } }
extern "C" {
CUresult cuInit(unsigned int Flags);
__attribute__((deprecated("x"))) extern CUresult cuThing(CUthing *thing, const char *const names[], CUother n = 0x1F);
CUresult cuThing_v2(void (*callback)(CUthing, void *user), const struct CUthing_st *p, ...) noexcept(true);
[[nodiscard]] CUresult __stdcall cuArray(float (*m)[4], double a[4][4], int &r, std::pair<int, int> q) __asm__("cuX");
static inline CUresult cuAdaptor(const int *a, [[maybe_unused]] int b) { if (b) { return cuInit(0); } return cuInit(b); }
inline CUthing operator|(CUthing a, CUthing b) { return a; }
extern const char *const cuText, *cuTexts[2]; CUresult (cuParenthesised)(int); CUresult (*cuPointer(int))(long);
}
template <class T> CUresult cuTemplate(T *p, int n = sizeof(T)) { return cuThing((CUthing *)p, nullptr, 1'000u); }
CUresult cuOverload(double); class CUclass : public CUthings { public: CUclass() : x{1} { cuInit(0); } int x; };
#pragma once
# 7 "other.h" 2
auto text = R"x(cuRaw(int);)x" "\"" '\''; CUresult cuDollar$(int \u00e9, int größe); asm("cuInit:"); ;
'''
PIECES = ['', ' ', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '::', '*', '&', '=', '...', '"', "'", '\\', '#',
          '\n', '\n# 1 "x.h"\n', 'extern "C" {', 'namespace', 'template <', 'typedef', 'struct', 'operator',
          'static inline', 'noexcept(', '__attribute__((', '[[', 'R"(', 'cuInit', 'cuThing(', 'CUresult', 'const', 'unsigned',
          'é', '\0', '\\u00e9', 'default', 'void', 'return', 'enum {', '= delete', '((' * 30, 'struct {' * 30]
DESCRIPTION = '''title = T
headers = cuda.h
functions = cuThing* cuAdaptor cuArray cuTexts cuParenth* cuOver* cuDollar*
required = cuThing
linux = libt.so
absent CUresult = CUDA_SUCCESS
'''


class Preprocessor:
    """Returns a given text for all headers."""
    style, folders = 'gcc', []

    def __init__(self, text):
        self.text = text

    def run(self, headers, macros, show_macros=False, last=''):
        return '#define cuThing cuThing_v2\n#define CUDA_VERSION 13000\n' if show_macros else self.text + last

    def folders_of(self, headers):
        return dict.fromkeys(headers, '/nowhere')

    def where(self, header):
        return '/nowhere' if header == 'cuda.h' else None


def mutated(numbers):
    """The seed with a few changes."""
    text = SEED
    for _ in range(numbers.choice((1, 1, 2, 5, 20))):
        at, length = numbers.randrange(len(text) + 1), numbers.choice((0, 0, 1, 2, 5, 30, 200))
        piece = numbers.choice(PIECES)
        if numbers.random() < 0.3:  # words of the text itself
            start = numbers.randrange(len(text) + 1)
            piece = text[start:start + numbers.choice((3, 10, 50))]
        text = text[:at] + piece + text[at + length:]
    return text


def generate(text):
    """Everything that is generated from a text; None if it is damaged. AssertionError: a fault."""
    preprocessor, lines = Preprocessor(text), []
    try:
        table = model.read_table(model.DRIVER, preprocessor, 13000)
        lines += table.left_out
        texts = [emit_headers.table_header(table, 13000), emit_headers.entries_header(table, 13000),
                 emit_sources.rows_source(table, 13000), emit_sources.registry_source(table, 13000)]
        described = description.parse(DESCRIPTION, 'thing.txt')
        further = library.read_table(described, preprocessor)
        lines += further.left_out
        texts += emit_library.files_of(further).values()
        for row in table.rows + further.rows:
            assert re.fullmatch(r'[A-Za-z_]\w*', row.name, re.A), row.name
            assert row.function.result and all(p.type and declarations.is_name(p.name) for p in row.function.parameters)
    except (declarations.Damaged, description.Invalid) as reason:
        lines, texts = [str(reason).partition('\n')[0]], None
    assert all(line.isascii() or texts is None for line in lines) and '\n' not in ''.join(lines), lines
    return texts


def run(seed, count=None, is_over=lambda: False):
    """Tries mutations; returns (all, those that were not damaged). Prints the text that caused an exception."""
    numbers, tried, usable = random.Random(seed), 0, 0
    while tried != count and not is_over():
        text = mutated(numbers)
        try:
            usable += generate(text) is not None
        except BaseException:
            print(f'the text of this traceback (seed {seed}, number {tried}):\n{text}')
            raise
        tried += 1
    return tried, usable
