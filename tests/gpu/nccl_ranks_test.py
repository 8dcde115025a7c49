#!/usr/bin/env python3
"""How a process of nccl_test.py determines its rank. Needs neither NCCL nor a GPU.

A process that believed it was the only one would add up nothing and find every sum correct.
"""

import os
import subprocess
import sys
import unittest

NO_NCCL = 77
LAUNCHERS = ("OMPI_", "PMI_", "PMIX_", "SLURM_")
A_JOB_OF_ONE = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}


def start(count, **variables):
    """Status and error output of a process that should be one of `count`."""
    plain = {key: value for key, value in os.environ.items()
             if not key.startswith(LAUNCHERS) and key not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run([program, "./no-nccl.so", "reduce", "no-file", str(count)],
                          env=plain | variables, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


class RanksTest(unittest.TestCase):
    def test_single_process_of_a_launcher_is_rejected(self):
        for one in (A_JOB_OF_ONE, {"PMI_RANK": "0", "PMI_SIZE": "1"}):
            status, said = start(2, **one)
            self.assertEqual(status, 1, said)
            self.assertIn("rank 0 of 1, and 2 processes were to be started", said)

    def test_rank_beyond_the_number_of_processes_is_rejected(self):
        status, said = start(2, RANK="2", WORLD_SIZE="2")
        self.assertEqual(status, 1, said)
        self.assertIn("rank 2 of 2", said)

    def test_launcher_takes_precedence_over_the_job(self):
        self.assertEqual(start(2, RANK="1", WORLD_SIZE="2", **A_JOB_OF_ONE)[0], NO_NCCL)
        of_mpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
        self.assertEqual(start(2, **of_mpi, **A_JOB_OF_ONE)[0], NO_NCCL)

    def test_missing_rank_is_rejected(self):
        status, said = start(1)
        self.assertEqual(status, 1, said)
        self.assertIn("does not say which rank", said)


if __name__ == "__main__":
    program = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)
