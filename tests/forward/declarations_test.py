"""The reader of declarations, with preprocessed texts: no compiler is needed.

usage: declarations_test.py SUPPORT

A function becomes a row only if all of its declaration is understood; each other one is one line.
"""

import re
import sys
import time
import unittest

sys.path.insert(0, sys.argv[1])
import mutated_headers  # noqa: E402
from tables import declarations, model  # noqa: E402

NAMES = re.compile('greet.*')


def read(text, is_c=True):
    """The functions, the inline functions, and the lines."""
    whole = f'# 1 "greeter.h"\nextern "C" {{\n{text}\n}}' if is_c else f'# 1 "greeter.h"\n{text}'
    return declarations.functions_of(declarations.Source(whole), NAMES)


class InlineFunctions(unittest.TestCase):
    """They have no row; the table may have a member with the name of one that only calls another function."""

    def check(self, definition, called):
        found, defined, left_out = read(f'int greet(int a);\n{definition}\nint greet_last(void);')
        self.assertEqual((list(found), list(defined.values()), left_out), (['greet', 'greet_last'], [called], []))

    def test_those_that_only_call_a_function(self):
        self.check('static inline int greet_b(int a) { return greet(a); }', 'greet')
        self.check('static inline int greet_b([[maybe_unused]] int a) { return greet(a); }', 'greet')
        self.check('inline int greet_b(__attribute__((unused)) int a) { return greet (a) ; }', 'greet')
        self.check('__attribute__((always_inline)) static int greet_b(int a) { return greet(a); }', 'greet')
        self.check('extern "C" inline int greet_b(int a) { return greet(a); }', 'greet')
        self.check('static inline int greet_b(const double m[4][4]) { return greet(m); }', 'greet')

    def test_those_that_are_not_understood(self):
        for parameter, argument in (('const int &a', 'a'), ('const char *f, ...', '1'),
                                    ('int (&a)[2]', 'a'), ('int a', 'a + 1'), ('int a', 'a), greet(a')):
            self.check(f'static inline int greet_b({parameter}) {{ return greet({argument}); }}', '')
        self.check('static inline int (greet_b)(int a) { return greet(a); }', '')
        self.check('static inline auto greet_b(int a) -> int { return greet(a); }', '')
        self.check('constexpr int greet_b(int a) { return greet(a); }', 'greet')
        self.check('int greet_b(double) = delete;', '')

    def test_long_ones_take_linear_time(self):
        before = time.process_time()
        self.check('static inline int greet_b(int a) {' + 'if (a) { greet(a); }\n' * 12000 + '}', '')
        self.assertLess(time.process_time() - before, 20)


class Linkage(unittest.TestCase):
    def test_functions_outside_extern_c_are_left_out(self):
        for text in ('int greet(int);', 'extern "C++" int greet(int);', 'extern "C" { extern "C++" { int greet(int); } }',
                     'int greet(std::pair<int, int> p);'):
            found, _, left_out = read(text, is_c=False)
            self.assertEqual((list(found), len(left_out)), ([], 1), text)
        self.assertIn('[outside extern "C"]', read('int greet(int);', is_c=False)[2][0])

    def test_an_overload_does_not_replace_the_function(self):
        for text in ('int greet(double a);\nextern "C" {\nint greet(int a);\n}',
                     'extern "C" {\nint greet(int a);\n}\nint greet(double a);'):
            found, _, left_out = read(text, is_c=False)
            self.assertEqual([p.type for p in found['greet'].parameters], ['int'])
            self.assertEqual(len(left_out), 1)

    def test_a_repetition_outside_extern_c_is_the_same_function(self):
        found, _, left_out = read('extern "C" int greet(int);\nint greet(int a);', is_c=False)
        self.assertEqual((list(found), left_out), (['greet'], []))

    def test_functions_in_a_namespace_are_left_out(self):
        for text in ('namespace x { extern "C" int greet(int); }', 'inline namespace { int greet(int); }'):
            self.assertEqual((read(text)[0], len(read(text)[2])), ({}, 1))

    def test_what_has_no_symbol_needs_no_line(self):
        for text in ('template <class T, class = enable<(1 > 0)>> int greet(T a) { return 1; }',
                     'template <> int greet<int>(int);', 'typedef int greet_t; using greet_u = int;',
                     'struct greet_s { void greet(int a) { greet(a); } }; struct greet_s; enum greet_e { greet_1 = 1 };',
                     'inline greet_f operator|(greet_f a, greet_f b) { return a; }', 'int other(greet_s);',
                     'int other(int) noexcept(noexcept(greet(1)));'):
            found, _, left_out = read(text + ' int greet_last(void);')
            self.assertEqual((list(found), left_out), (['greet_last'], []), text)

    def test_null_pointers_are_no_zeros(self):
        found, _, _ = read('int greet(void *p = 0, const int *q = __null, int *const r = 0, greet_t t = 0, unsigned n = 0);')
        self.assertEqual([p.default for p in found['greet'].parameters], ['nullptr', 'nullptr', 'nullptr', '{}', '0'])



class Understood(unittest.TestCase):
    def check(self, declaration, expected):
        found, _, left_out = read(declaration)
        self.assertEqual(left_out, [])
        [function] = found.values()
        parameters = ', '.join(p.declaration for p in function.parameters)
        self.assertEqual(f'{function.result} {function.name}({parameters}){function.exceptions}', expected)

    def test_types(self):
        self.check('unsigned long long int greet(unsigned const char *const restrict p, struct S s, enum E);',
                   'unsigned long long int greet(unsigned const char * const p, struct S s, enum E argument2)')
        self.check('int const *const greet(std::size_t, ::size_t n);',
                   'int const * const greet(std :: size_t argument0, :: size_t n)')
        self.check('void greet(int a[3], char *b[], void (*c)(int, void *), void (*)(int [2]));',
                   'void greet(int * a, char * * b, void (*c)(int, void *), void (*argument3)(int[2]))')

    def test_exceptions_are_kept(self):
        for text in ('noexcept', 'noexcept(true)', 'throw()'):
            self.check(f'int greet(int a) {text};', f'int greet(int a) {text}')

    def test_attributes_that_change_no_call(self):
        self.check('[[gnu::cold, deprecated("x")]] __attribute__((nonnull(1), format(printf, 1, 2))) int greet(int '
                   'a [[maybe_unused]]) __attribute__((__pure__));', 'int greet(int a)')
        self.check('__declspec(dllimport) int __stdcall greet(int a);', 'int greet(int a)')

    def test_parameters_are_not_named_as_what_is_generated(self):
        self.check('int greet(int cushim_status, int cushim_slot_greet, int, int argument2);',
                   'int greet(int argument0, int argument1, int argument2_, int argument2)')

    def test_a_function_after_one_with_a_body(self):
        self.assertIn('greet_b', read('struct S greet_a(int a) { return S{a}; } int greet_b(int);')[0])


class LeftOut(unittest.TestCase):
    """One line of ASCII each."""

    def check(self, *declarations_left_out):
        for text in declarations_left_out:
            found, _, left_out = read(f'int greet_first(int);\n{text}\nint greet_last(int);')
            self.assertEqual((list(found), len(left_out)), (['greet_first', 'greet_last'], 1), text)
            self.assertTrue(left_out[0].isascii() and '\n' not in left_out[0], left_out)

    def test_names_with_other_characters(self):
        self.check('int greet_größe(int);', 'int greeté(int);', 'int greet$(int);', 'int greet_\\u00e4(int);')

    def test_symbols_with_another_name(self):
        self.check('int greet(int) __asm__("greet_other");', 'int greet(int) asm("x");')

    def test_attributes_that_change_the_call(self):
        self.check('int greet(int) __attribute__((ms_abi));', '__attribute__((regparm(3))) int greet(int);',
                   'int greet(float v __attribute__((vector_size(16))));', 'int __vectorcall greet(int);',
                   'struct __attribute__((packed)) S greet(int);', 'int greet(alignas(16) int a);')

    def test_shapes(self):
        self.check('int (greet)(int);', 'int (*greet(int))(int);', 'int (*greet)(int);', 'int greet(int), greet_b(int);',
                   'int other(int), greet(int);', 'extern int other, greet;', 'extern int greet[3];',
                   'int greet(int a) { return a; }',                   'auto greet(int) -> int;', 'int greet(int, ...);', 'int greet(int &a);',
                   'int greet(int (a)[2][2]);', 'int greet(int (*a)[2] [[x]]);',
                   'int greet(int a, int a);', 'int greet(int class);', 'decltype(1) greet(int);', 'greet(int);',
                   'int greet(void (*)(int) noexcept);', 'int greet(int a = [] { return 1; }());', 'int x::greet(int);',
                   'int greet(struct);', 'R"x(\nint greet();\n)x" int greet(int);', 'constinit int greet = 1;')

    def test_declarations_without_an_end(self):
        self.assertEqual(len(read('int greet(int)')[0]), 1)
        for text in ('int greet(', 'int greet(int a[3', 'int greet([[', '}}', 'int greet(int a];'):
            with self.assertRaisesRegex(declarations.Damaged, r'^greeter\.h:2: . (is never closed|was never opened)$'):
                read(text)


class Reported(unittest.TestCase):
    def test_inline_function_with_a_name_outside_ascii(self):
        left_out = []
        _, defined, _ = read('static inline int greeté(int a) { return a; }')
        model.unite({}, left_out, 'plain', model.DRIVER, ({}, defined, []))
        self.assertEqual(left_out, ['greet\\xe9 [defined by the header itself]'])


class Mutations(unittest.TestCase):
    def test_none_ends_in_a_traceback(self):
        self.assertIsNotNone(mutated_headers.generate(mutated_headers.SEED))
        tried, usable = mutated_headers.run(20, count=400)
        self.assertGreater(usable, tried / 10)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
