#!/usr/bin/env python3
"""Runs a fuzzer: run.py FUZZER EDGES. The environment has FUZZ_SECONDS (60) and FUZZ_FOLDER (the current one).

Fails if an input crashes it, takes over 20 s or 2 GB, or if the fuzzer reaches fewer than EDGES edges in a minute: then the
first check rejects its inputs, and it tests nothing. The folder keeps inputs that reach new code (corpus) for the next
run, inputs that crash it (crashes), and its output (NAME.log)."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import seeds


def problem_of(status, text, least, seconds):
    if status != 0:
        return f'it ended with status {status}'
    edges = re.findall(r'^#\d+.* cov: (\d+)', text, re.MULTILINE)
    reached = int(edges[-1]) if edges else 0
    if seconds >= 60 and reached < least:
        return f'it reaches {reached} edges, and {least} are expected'
    return None


def main(fuzzer, least):
    folder = pathlib.Path(os.environ.get('FUZZ_FOLDER', '.')).resolve()
    name = pathlib.Path(fuzzer).name.removeprefix('fuzz_')
    seconds = int(os.environ.get('FUZZ_SECONDS', '60'))
    for part in ('corpus', 'crashes'):
        (folder / part / name).mkdir(parents=True, exist_ok=True)
    log = folder / f'{name}.log'
    memory = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch, open(log, 'wb') as output:
        seeds.write(name, pathlib.Path(scratch) / 'seeds')
        environment = {**os.environ, 'TMPDIR': scratch, 'UBSAN_OPTIONS': 'print_stacktrace=1',
                       'ASAN_OPTIONS': 'detect_stack_use_after_return=1:strict_string_checks=1'}
        status = subprocess.run(
            [fuzzer, f'-max_total_time={seconds}', '-max_len=4096', '-timeout=20', '-report_slow_units=20',
             '-rss_limit_mb=2048', f'-artifact_prefix={folder}/crashes/{name}/', folder / 'corpus' / name,
             f'{scratch}/seeds'], env=environment, stdout=output, stderr=output, check=False).returncode
    text = log.read_text(errors='replace')
    print(*re.findall(r'^#\d+.*$', text, re.MULTILINE)[-1:])
    problem = problem_of(status, text, int(least), seconds)
    if problem:
        found = re.search(r'(?:ERROR: |runtime error: ).*(?:\n.*){0,12}', text)
        print(found.group(0) if found else '', f'{name}: {problem}; full output: {log}', sep='\n')
        for path in re.findall(r'Test unit written to (.*)', text)[-1:]:
            print(f'to run only that input: {fuzzer} {path}\n'
                  f'to minimize it: {fuzzer} -minimize_crash=1 -runs=100000 {path}')
    return 1 if problem else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
