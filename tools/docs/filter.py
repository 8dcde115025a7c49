#!/usr/bin/env python3
"""Doxygen's input filter: prints a header with its comments as comments that Doxygen reads.

Each line of the input stays one line of the output, so that Doxygen reports the header's lines.

- A comment at the start of a file documents the file.
- A comment on lines of its own documents the declarations below it, up to the next blank line or
  comment: several become a group. A class or an enumeration ends the group.
- A comment that begins with --- is a heading for readers of the header, and documents nothing.
- A comment at the end of a line documents what precedes it. It continues in the lines below that
  hold nothing else, from the same column on.
- to_text() without a comment refers to text.hpp, which documents all of them.
"""

import re
import sys

OWN_LINE = re.compile(r'^(\s*)//(?!/)')
BLOCK = re.compile(r'^(\s*)/\*(?!\*)')
HEADING = re.compile(r'\s*(//|/\*) ---')
TRAILING = re.compile(r'^(\s*[^\s/].*?[;,{})\w]\s*)//(?!/)')
TRAILING_BLOCK = re.compile(r'^(\s*[^\s/].*?[;,{})\w]\s*)/\*(?!\*)')
STRING = re.compile(r'"(\\.|[^"\\])*"')
# Doxygen takes <utility> for a tag of HTML, and #include for a reference.
TAG = re.compile(r'<(\w+( \*)?)>')
DIRECTIVE = re.compile(r'#(?=[a-z])')
# Four columns more than the text of the comment: code, which Doxygen prints unchanged.
CODE = re.compile(r'^\s*(///?|/?\*+) {5,}\S')
# The parts of a contract, a line each.
LABEL = re.compile(r'^( *(?:\*|///) )((?:Lifetime|Threads|Context|Errors|Cost)(?: of [\w ]+)?:)')
REQUIRES = re.compile(r'^( *(?:\*|///) )(?=Requires CUDA)')
FORWARD = re.compile(r'(class|struct) \w+;')  # its comment is for readers of the header
TYPE = re.compile(r'\s*(class|struct|enum|union|typedef|namespace|extern)\b')
TO_TEXT = re.compile(r'(template <[^>]*> )?(inline |CUSHIM_API )?Text to_text\(')
NO_DECLARATION = re.compile(r'\s*(#|public:|protected:|private:|\})')


def indent_of(line):
    return len(line) - len(line.lstrip())


def kinds(lines):
    """For each line: 'comment' (on lines of its own), 'blank' or 'code'."""
    inside = False
    for line in lines:
        text = line.strip()
        if inside or text.startswith(('//', '/*')):
            inside = (inside or text.startswith('/*')) and '*/' not in text
            yield 'comment'
        else:
            yield 'code' if text else 'blank'


def declarations(lines, kind, first):
    """Where the declarations begin that a comment above line `first` documents, and their end."""
    starts, depth, is_begun = [], 0, False
    for index in range(first, len(lines)):
        is_other = kind[index] != 'code' or NO_DECLARATION.match(lines[index])
        if depth == 0 and not is_begun and is_other:
            return starts, index
        if kind[index] != 'code':
            continue
        if not is_begun:
            starts.append(index)
            is_begun = True
        if depth == 0 and TYPE.match(lines[index]):
            return starts[:-1], starts[-1]
        code = lines[index].split(' //')[0].split(' /*')[0].rstrip()
        depth += len(re.findall('[({]', code)) - len(re.findall('[)}]', code))
        if depth < 0:  # of an enumeration
            return starts, index
        is_begun = depth > 0 or not code.endswith((';', '}'))
    return starts, len(lines)


def groups(lines, kind):
    """Lines before which a group begins, and lines before which one ends."""
    begins, ends = set(), set()
    for index in range(1, len(lines)):
        is_member = indent_of(lines[index]) <= 4  # otherwise in a function
        # Otherwise it belongs to a comment at the end of a line.
        is_above = indent_of(lines[index - 1]) <= indent_of(lines[index]) + 1
        is_documented = kind[index - 1] == 'comment' and is_above
        if kind[index] != 'code' or not is_member or not is_documented:
            continue
        starts, end = declarations(lines, kind, index)
        if len(starts) > 1:
            begins.add(index)
            ends.add(end)
    return begins, ends


def marked(lines, kind):
    column = None  # of a comment at the end of a line
    is_heading = False
    for index, line in enumerate(lines):
        code = line if kind[index] == 'code' and not FORWARD.match(line) else ''
        code = STRING.sub(lambda found: '"' * len(found.group()), code)
        if found := TRAILING.match(code):
            column = found.end(1)
            yield line[:column] + '///<' + line[column + 2:]
        elif found := TRAILING_BLOCK.match(code):
            yield line[:found.end(1)] + '/**<' + line[found.end(1) + 2:]
        elif column is not None and line[:column].isspace() and line[column:].startswith('//'):
            yield line[:column] + '///<' + line[column + 2:]
        else:
            column = None
            is_heading = kind[index] == 'comment' and (is_heading or bool(HEADING.match(line)))
            is_comment = kind[index] == 'comment' and not is_heading
            yield BLOCK.sub(r'\1/**', OWN_LINE.sub(r'\1///', line)) if is_comment else line


def escaped(line, kind):
    """Without the markup that Doxygen would see in the text of a comment."""
    if kind == 'comment':
        if CODE.match(line):
            return line
        line = DIRECTIVE.sub(r'\\#', TAG.sub(r'&lt;\1&gt;', line))
        return REQUIRES.sub(r'\1<br>', LABEL.sub(r'\1<br><b>\2</b>', line))
    code, marker, comment = re.match(r'(.*?)(///<|/\*\*<|$)(.*)', line).groups()
    return code + marker + TAG.sub(r'&lt;\1&gt;', comment)


def with_file(lines, kind):
    """The comment at the start of the file ends with the command that makes it the file's."""
    if kind[0] != 'comment':
        return lines
    last = kind.index('code') - 1
    while kind[last] != 'comment':
        last -= 1
    text = lines[last]
    is_block = text.endswith('*/')
    lines[last] = text[:-2] + '\\file */' if is_block else text + ' \\file'
    return lines


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        lines = file.read().split('\n')
    kind = list(kinds(lines))
    begins, ends = groups(lines, kind)
    out = with_file([escaped(line, what) for line, what in zip(marked(lines, kind), kind)], kind)
    for index, line in enumerate(out):
        prefix = '/**@}*/ ' if index in ends else ''
        if index in begins:
            prefix += '/**@{*/ '
        is_template = line.startswith('template')
        declaration = line + ' ' + lines[index + 1] if is_template else line
        has_comment = kind[index - 1] == 'comment' or lines[index - 1].startswith('template')
        if TO_TEXT.match(declaration) and not has_comment:
            prefix += '/** Text for logs and debuggers: see text.hpp. */ '
        print(prefix + line)


if __name__ == '__main__':
    main()
