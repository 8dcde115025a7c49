#!/usr/bin/env python3
"""Runs each program of sim-bugs with and without its mistake, and compares what a user sees with the tables of
README.md: a mistake is reported as listed, and a correct program never is."""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import unittest

parser = argparse.ArgumentParser()
parser.add_argument('--all', action='store_true', help='run every program in every configuration')
parser.add_argument('tables')
parser.add_argument('program')
OPTIONS = parser.parse_args()

MODES = ['immediate', 'threaded', *(f'adversarial;seed={seed}' for seed in range(1, 8))]
CONFIGURATIONS = [f'report=fail;mode={mode}' for mode in MODES] + ['report=errors']
BEST = 'report=errors;mode=adversarial;seed=3'
FEW = ['report=fail', 'report=fail;mode=threaded', BEST]
UNREPORTED = 'none'


def rows():
    """The rows of the tables: mistake, settings that report it, part of the line."""
    with open(OPTIONS.tables, encoding='utf-8') as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
            if line.startswith('|') and len(cells) == 3 and cells[0] != 'mistake' and set(cells[0]) != {'-'}:
                yield cells[0], cells[1].strip('`'), cells[2].strip('`')


def tried(listed):
    """The settings with which a correct program is run."""
    if OPTIONS.all:
        return CONFIGURATIONS
    return dict.fromkeys(FEW if listed == UNREPORTED else [*FEW, listed])


def run(name, twin, settings):
    environment = {**os.environ, 'CUSHIM_SIM': 'devices=2;' + settings}
    done = subprocess.run([OPTIONS.program, name, twin], env=environment, text=True, capture_output=True, check=False,
                          timeout=120)
    return done.returncode, done.stderr


def run_all(jobs):
    """The outcomes of run(), by arguments."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(jobs, pool.map(lambda job: run(*job), jobs)))


def is_reported(outcome, line):
    status, errors = outcome
    pattern = '.*'.join(re.escape(part) for part in line.split('…'))
    return status != 0 and re.search(f'^(cushim-sim: |sim-bugs: ){pattern}', errors, re.MULTILINE) is not None


class Bugs(unittest.TestCase):
    def setUp(self):
        self.rows = list(rows())

    def test_every_program_is_listed(self):
        names = subprocess.run([OPTIONS.program, '--list'], text=True, capture_output=True, check=True).stdout
        self.assertEqual(sorted(name for name, _, _ in self.rows), sorted(names.splitlines()))

    def test_mistakes_are_reported_as_listed(self):
        caught = [row for row in self.rows if row[1] != UNREPORTED]
        jobs = [(name, 'buggy', settings) for name, listed, _ in caught for settings in dict.fromkeys([listed, BEST])]
        outcomes = run_all(jobs)
        lines = {name: line for name, _, line in caught}
        for (name, _, settings), outcome in outcomes.items():
            with self.subTest(name, settings=settings):
                self.assertTrue(is_reported(outcome, lines[name]), outcome)
        print(f'{len(caught)} of {len(self.rows)} mistakes are reported', file=sys.stderr)

    def test_other_mistakes_are_not_reported(self):
        outcomes = run_all([(name, 'buggy', settings)
                            for name, listed, _ in self.rows if listed == UNREPORTED for settings in CONFIGURATIONS])
        for job, outcome in outcomes.items():
            with self.subTest(job):
                self.assertEqual(outcome, (0, ''))

    def test_correct_programs_are_never_reported(self):
        jobs = [(name, 'correct', settings) for name, listed, _ in self.rows for settings in tried(listed)]
        outcomes = run_all(jobs)
        for job, outcome in outcomes.items():
            with self.subTest(job):
                self.assertEqual(outcome, (0, ''))
        print(f'{len(jobs)} correct runs', file=sys.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
