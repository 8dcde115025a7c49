"""Finds the function declarations of a header in preprocessed text.

Not a C++ parser: it splits the text of the named headers into top-level declarations and parses those
that declare a function with one of our prefixes. Any other text with such a name before a parenthesis is
reported, never dropped silently.
"""

import dataclasses
import itertools
import os
import re

TOKEN = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|\.?\d(?:[\w.]|[eEpP][+-])*|\.\.\.|::|->|[^\s\w]'
)
LINE_MARKER = re.compile(r'^#\s*(?:line\s+)?(?P<line>\d+)\s+"(?P<file>(?:[^"\\]|\\.)*)"')
# Words that do not affect the type of a function.
DECORATION = {'extern', '"C"', 'static', 'inline', '__inline__', '__inline', '__forceinline',
              '__extension__', '__stdcall', '__cdecl', '__fastcall', '__vectorcall', '__restrict',
              '__restrict__', 'restrict'}
INLINE = {'inline', '__inline__', '__inline', '__forceinline'}
ATTRIBUTES = {'__attribute__', '__declspec', '__asm__', 'asm'}
SPECIFIERS = {'const', 'volatile', 'unsigned', 'signed', 'long', 'short', 'int', 'char', 'float',
              'double', 'bool', 'void', 'struct', 'union', 'enum'}


@dataclasses.dataclass
class Parameter:
    name: str
    type: str         # as in a cast: "CUdeviceptr *", "void (*)(void *)"
    declaration: str  # as in a prototype: "CUdeviceptr * dptr", "void (* fn)(void *)"
    default: str = ''


@dataclasses.dataclass
class Function:
    name: str
    result: str
    parameters: list

    def signature(self):
        return (self.result, tuple(p.type for p in self.parameters))


class NotUnderstood(Exception):
    """A construct that this parser does not know."""


class Damaged(Exception):
    """The headers are damaged; the message is one line that begins with file and line."""


class Unclosed(Exception):
    """An unmatched bracket, after which nothing can be parsed. Holds the index of its token."""


class HeaderText(str):
    """Lines of headers with their positions: (file, line)."""

    places = ()

    def __add__(self, more):
        """Appended lines have no position."""
        text = HeaderText(str(self) + more)
        text.places = [*self.places, *[('(added)', 1)] * (text.count('\n') + 1 - len(self.places))]
        return text

    def place(self, offset):
        """The position of a character: "/usr/local/cuda/include/cuda.h:12"."""
        line = self.count('\n', 0, offset)
        return '{}:{}'.format(*self.places[line])

    def place_of_token(self, index):
        return self.place(next(itertools.islice(TOKEN.finditer(self), index, None)).start())


def text_of_headers(preprocessed, wanted):
    """The lines that come from headers whose file name `wanted` accepts, in order."""
    lines, places, inside, file, number = [], [], False, '', 0
    for line in preprocessed.split('\n'):
        marker = LINE_MARKER.match(line)
        if marker:
            file, number = marker['file'].replace('\\\\', '/'), int(marker['line'])
            inside = wanted(os.path.basename(file))
            continue
        if inside and not line.lstrip().startswith('#'):
            lines.append(line)
            places.append((file, number))
        number += 1
    text = HeaderText('\n'.join(lines))
    text.places = places
    return text


def tokenize(text):
    return TOKEN.findall(text)


def matching(tokens, start):
    """The index of the bracket that closes the one at start."""
    pairs = {'(': ')', '[': ']', '{': '}'}
    opening, closing = tokens[start], pairs[tokens[start]]
    depth = 0
    for index in range(start, len(tokens)):
        if tokens[index] == opening:
            depth += 1
        elif tokens[index] == closing:
            depth -= 1
            if depth == 0:
                return index
    raise NotUnderstood('unbalanced ' + opening)


def matching_at_top(tokens, start):
    try:
        return matching(tokens, start)
    except NotUnderstood:
        raise Unclosed(start) from None


def declarations_of(text):
    """Each declaration of a HeaderText as a list of tokens."""
    tokens = tokenize(text)
    try:
        yield from top_level_declarations(tokens)
    except Unclosed as unclosed:
        index = unclosed.args[0]
        raise Damaged(f'{text.place_of_token(index)}: {tokens[index]} is never closed') from None


def top_level_declarations(tokens):
    """Yields each declaration as a list of tokens; looks into extern "C" blocks."""
    current, index = [], 0
    while index < len(tokens):
        token = tokens[index]
        if token == ';':
            if current:
                yield current
            current = []
        elif token == '{':
            if len(current) >= 2 and current[-2:] in (['extern', '"C"'], ['extern', '"C++"']):
                current = []
            else:
                end = matching_at_top(tokens, index)
                current.extend(tokens[index:end + 1])
                index = end
                if current[0] not in ('typedef', 'struct', 'union', 'enum', 'extern', 'class'):
                    yield current
                    current = []
        elif token == '}':
            current = []
        elif token in '([':
            end = matching_at_top(tokens, index)
            current.extend(tokens[index:end + 1])
            index = end
        else:
            current.append(token)
        index += 1


def without_attributes(tokens):
    kept, index = [], 0
    while index < len(tokens):
        token = tokens[index]
        if token in ATTRIBUTES and index + 1 < len(tokens) and tokens[index + 1] == '(':
            index = matching(tokens, index + 1)
        elif token == '[' and tokens[index:index + 2] == ['[', '[']:
            index = matching(tokens, index)
        elif token not in DECORATION:
            kept.append(token)
        index += 1
    return kept


def split_at_commas(tokens):
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in '([{') - (token in ')]}')
        if token == ',' and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def is_identifier(token):
    return re.fullmatch(r'[A-Za-z_]\w*', token) is not None


def spell(tokens):
    text = ' '.join(tokens)
    return re.sub(r'\s*([(),\[\]])\s*', r'\1', text).replace(',', ', ').replace('(*', ' (*').strip()


def parse_parameter(tokens, position):
    default = ''
    if '=' in tokens:
        cut = tokens.index('=')
        # __null is the NULL of some compilers; installed headers are read by others too.
        tokens, default = tokens[:cut], spell(tokens[cut + 1:]).replace('__null', 'nullptr')
    if not tokens or tokens == ['...'] or any(t in '{};' or t == '&' for t in tokens):
        raise NotUnderstood('parameter ' + spell(tokens))
    unnamed = f'argument{position}'
    if '(' in tokens:  # a pointer to a function: R (*name)(A)
        opening = tokens.index('(')
        closing = matching(tokens, opening)
        inner = tokens[opening + 1:closing]
        if not inner or inner[0] != '*' or len(inner) > 2 or tokens[closing + 1:][:1] != ['(']:
            raise NotUnderstood('parameter ' + spell(tokens))
        name = inner[1] if len(inner) == 2 else unnamed
        result, arguments = spell(tokens[:opening]), spell(tokens[closing + 1:])
        return Parameter(name, f'{result} (*){arguments}', f'{result} (*{name}){arguments}', default)
    stars = []
    if '[' in tokens:  # an array parameter is a pointer
        cut = tokens.index('[')
        if tokens.count('[') != 1:
            raise NotUnderstood('parameter ' + spell(tokens))
        tokens, stars = tokens[:cut], ['*']
    if is_identifier(tokens[-1]) and tokens[-1] not in SPECIFIERS and has_type(tokens[:-1]):
        name, tokens = tokens[-1], tokens[:-1]
    else:
        name = unnamed
    kind = spell(tokens + stars)
    return Parameter(name, kind, f'{kind} {name}', default)


def has_type(tokens):
    """Whether these tokens already name a type, so that one more identifier is the name."""
    words = [t for t in tokens if is_identifier(t) and t not in ('const', 'volatile')]
    return bool(words) and words[-1] not in ('struct', 'union', 'enum')


def parse_function(tokens, prefix):
    """A Function, or None if the tokens declare something else."""
    tokens = without_attributes(tokens)
    if not tokens or tokens[0] in ('typedef', 'using', 'template'):
        return None
    names = [i for i, t in enumerate(tokens[:-1]) if prefix.fullmatch(t) and tokens[i + 1] == '(']
    if not names or '{' in tokens[:names[0]] or '(' in tokens[:names[0]]:
        return None
    position = names[0]
    end = matching(tokens, position + 1)
    if tokens[end + 1:] and tokens[end + 1:] != ['noexcept']:
        raise NotUnderstood(spell(tokens))
    result = tokens[:position]
    if not has_type(result):
        raise NotUnderstood(spell(tokens))
    inside = tokens[position + 2:end]
    parameters = []
    if inside and inside != ['void']:
        parameters = [parse_parameter(part, i) for i, part in enumerate(split_at_commas(inside))]
    used = set()
    for i, parameter in enumerate(parameters):
        if parameter.name in used:
            raise NotUnderstood(f'{tokens[position]}: two parameters named {parameter.name}')
        used.add(parameter.name)
    return Function(tokens[position], spell(result), parameters)


def declares_a_name(tokens, prefix):
    """Whether this may declare a function or an object with one of our names: such a name before a
    parenthesis, or last in a declaration that defines no type."""
    if tokens[0] in ('typedef', 'using', 'template'):
        return False
    defines_type = '{' in tokens and tokens[0] in ('struct', 'union', 'enum', 'class')
    if defines_type:  # its members may call such functions
        start = tokens.index('{')
        tokens = tokens[:start] + tokens[matching(tokens, start) + 1:]
    called = any(prefix.fullmatch(t) and following in ('(', ')')
                 for t, following in zip(tokens, tokens[1:]))
    only_names_type = tokens[0] in ('struct', 'union', 'enum', 'class') and len(tokens) == 2
    last = prefix.fullmatch(tokens[-1]) is not None
    return called or (last and not defines_type and not only_names_type)


def is_inline(tokens):
    body = tokens.index('{') if '{' in tokens else len(tokens)
    return tokens[0] == 'static' or any(t in INLINE for t in tokens[:body])


def forwarded(tokens, name):
    """The function that an inline function calls with all of its own arguments and does nothing else:
    `f(A a, B b) { return g(a, b); }`. Empty if it does something else."""
    match = re.search(r'\{ (?:return )?(\w+) \( ?(.*?) ?\) ; \}$', ' '.join(tokens))
    if not match or '{' in match[2] or '(' in match[2]:
        return ''
    start = tokens.index(name) + 1
    inside = tokens[start + 1:matching(tokens, start)]
    names = [parse_parameter(part, i).name for i, part in enumerate(split_at_commas(inside))
             ] if inside and inside != ['void'] else []
    passed = [part.strip() for part in match[2].split(',')] if match[2] else []
    return match[1] if names == passed else ''


def functions_of(text, prefix):
    """The functions that the text declares, by name; those that it defines, by name, each with the
    function that it only calls (forwarded); and the declarations that were not understood."""
    found, defined, left_out = {}, {}, []
    for tokens in declarations_of(text):
        if not declares_a_name(tokens, prefix):
            continue
        if is_inline(tokens):  # not exported: an adaptor of the header
            name = next(t for t, following in zip(tokens, tokens[1:] + [''])
                        if prefix.fullmatch(t) and following in ('(', ')', ''))
            defined[name] = forwarded(tokens, name)
            continue
        try:
            function = parse_function(tokens, prefix)
        except NotUnderstood as reason:
            left_out.append(f'{spell(tokens)[:300]} [{reason}]')
            continue
        if function is None:
            left_out.append(spell(tokens)[:300])
            continue
        known = found.setdefault(function.name, function)
        if known.signature() != function.signature():
            left_out.append(f'{spell(tokens)[:300]} [declared twice, differently]')
    return found, defined, left_out


def typedef_of(tokens_by_name, name):
    """The meaning of a typedef name: ('struct', tag) or ('type', text); None if unknown."""
    tokens = tokens_by_name.get(name)
    if tokens is None:
        return None
    body = tokens[1:-1]
    if body[0] in ('struct', 'union') and is_identifier(body[1]):
        return (body[0], body[1])
    if body[0] == 'enum':  # its values are not negative
        return ('type', 'unsigned int')
    if '{' in body or '(' in body:
        return None
    return ('type', spell(body))


def typedefs_in(text):
    """The tokens of each typedef, by each name that it declares."""
    found = {}
    for declaration in declarations_of(text):
        if declaration[0] == 'typedef' and is_identifier(declaration[-1]):
            for part in split_at_commas(declaration):
                name = part[-1]
                if is_identifier(name):
                    found[name] = declaration[:1] + strip_declarators(declaration[1:]) + [name]
    return found


def strip_declarators(tokens):
    """`struct X { } A, B` without its declarators: `struct X { }`."""
    first = split_at_commas(tokens)[0]
    return first[:-1] if first and is_identifier(first[-1]) else first
