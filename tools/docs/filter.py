#!/usr/bin/env python3
"""Doxygen's input filter: prints a header with its ordinary comments as comments that Doxygen reads.

A comment on lines of its own documents what follows it, one at the end of a line what precedes it. A comment of
several lines at the end of code goes on in the lines below that hold nothing else, from the same column on.
"""

import re
import sys

OWN_LINE = re.compile(r'^(\s*)//(?!/)')
BLOCK = re.compile(r'^(\s*)/\*(?!\*)')
TRAILING = re.compile(r'^(\s*[^\s/].*?[;,{})]\s*)//(?!/)')
# Doxygen takes <utility> for a tag of HTML, and #include for a reference.
TAG = re.compile(r'<(\w+)>')
DIRECTIVE = re.compile(r'#(?=[a-z])')


def marked(lines):
    column = None  # of a comment at the end of a line
    for line in lines:
        code = '"' in line.split('//')[0]
        if not code and (found := TRAILING.match(line)):
            column = found.end(1)
            yield found.group(1) + '///<' + line[column + 2:]
        elif column is not None and line[:column].isspace() and line[column:].startswith('//'):
            yield line[:column] + '///<' + line[column + 2:]
        else:
            column = None
            yield BLOCK.sub(r'\1/**', OWN_LINE.sub(r'\1///', line))


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        for line in marked(file.read().split('\n')):
            comment = line.find('//')
            if comment < 0 and line.lstrip().startswith(('*', '/*')):
                comment = 0
            text = DIRECTIVE.sub(r'\\#', TAG.sub(r'&lt;\1&gt;', line[comment:])) if comment >= 0 else ''
            print(line if comment < 0 else line[:comment] + text)


if __name__ == '__main__':
    main()
