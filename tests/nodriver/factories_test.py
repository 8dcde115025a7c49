#!/usr/bin/env python3
"""absent_test.cpp calls every function of the public headers that creates a Result: static members and free
functions, once for each overload. Arguments: the test's source, --, the headers."""

import re
import sys
import unittest

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
LABEL = re.compile(r'\s*(public|protected|private)\s*:(?!:)')
SCOPE = re.compile(r'.*\b(namespace|class|struct)\s+(?:CUSHIM_\w+\s+|\[\[\w+\]\]\s*)*([\w:]*)[^(]*$', re.S)
RESULT = re.compile(r'\bResult<[^()]*>\s*(\w+)\(')


class Scope:
    def __init__(self, kind='', name='', is_public=True):
        self.kind, self.name, self.is_public = kind, name, is_public


def end_of(text, at, opening, closing):
    """The position where the bracket at `at` is closed."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return index
    raise ValueError(f'{opening} is not closed')


def declarations(text):
    """(scopes, declaration) of every declaration in a namespace or a class."""
    scopes, begin, at = [], 0, 0
    while at < len(text):
        if text[at] == '(':  # default arguments may contain braces
            at = end_of(text, at, '(', ')')
        elif text[at] in '{;}':
            declaration = text[begin:at]
            while scopes and (label := LABEL.match(declaration)):
                scopes[-1].is_public = label[1] == 'public'
                declaration = declaration[label.end():]
            scope = SCOPE.search(declaration)
            if text[at] == '{' and scope and not re.search(r'\benum\b', declaration):
                scopes.append(Scope(scope[1], scope[2], scope[1] != 'class'))
            elif text[at] == '}':
                scopes.pop()
            else:
                yield list(scopes), declaration
                if text[at] == '{':  # the body of a function, or an initialiser
                    at = end_of(text, at, '{', '}')
            begin = at + 1
        at += 1


def is_deleted(declaration):
    return re.search(r'=\s*delete\s*$', declaration)


def factories(text):
    """The qualified name of each overload of the functions that absent_test.cpp must call."""
    text = COMMENT.sub('', text).replace('extern "C"', '')
    for scopes, declaration in declarations(text):
        found = RESULT.search(declaration)
        names = [scope.name for scope in scopes]
        if not found or 'detail' in names or not all(scope.is_public for scope in scopes) or is_deleted(declaration):
            continue
        is_member = scopes and scopes[-1].kind != 'namespace'
        if not is_member or re.search(r'\bstatic\b', declaration[:found.start()]):
            yield '::'.join([*names, found[1]]).removeprefix('cushim::')


def call_of(name):
    """A pattern of calls of a function; the classes may be templates."""
    *scopes, function = name.split('::')
    qualified = ''.join(rf'{scope}(?:<[\w ]+>)?::' for scope in scopes)
    return re.compile(rf'(?<![\w:.>]){qualified}{function}(?:<[\w :]+>)?\(')


class Factories(unittest.TestCase):
    maxDiff = None

    def test_factories_are_found_in_headers(self):
        found = [*factories('namespace cushim { namespace detail { Result<int> a(); }'
                            ' template <class T> class [[nodiscard]] B { static Result<B> c();'
                            ' public: B() : x{} {} /* static Result<B> d(); */'
                            ' CUSHIM_API static Result<B<T>> e(int x = {}, T y = {}) noexcept;'
                            ' Result<int> f() const { return g(); } static Result<B> h() { } };'
                            ' inline Result<std::span<int>> i() {} Result<int> B::j() {}'
                            ' Result<int> i(long) noexcept = delete;'
                            ' namespace rt { Result<void> k(int); Result<void> k(); } }')]
        self.assertEqual(found, ['B::e', 'B::h', 'i', 'rt::k', 'rt::k'])

    def test_every_factory_is_called(self):
        overloads = {}
        for header in HEADERS:
            with open(header, encoding='utf-8') as file:
                for name in factories(file.read()):
                    overloads[name] = overloads.get(name, 0) + 1
        self.assertGreater(len(overloads), 100)
        with open(SOURCE, encoding='utf-8') as file:
            source = COMMENT.sub('', file.read())
        missing = [f'{name}: {count} overloads, {calls} calls' for name, count in overloads.items()
                   if (calls := len(call_of(name).findall(source))) < count]
        self.assertEqual(missing, [], f'missing in {SOURCE}')


if __name__ == '__main__':
    separator = sys.argv.index('--')
    SOURCE, HEADERS = sys.argv[1], sys.argv[separator + 1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
