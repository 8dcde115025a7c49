#!/usr/bin/env python3
"""Which rank a process of nccl_test.py takes itself for. Needs neither NCCL nor a GPU.

One that takes itself for the only one would add nothing up, and find every sum right.
"""

import os
import subprocess
import sys
import unittest

NO_NCCL = 77
LAUNCHERS = ("OMPI_", "PMI_", "PMIX_", "SLURM_")
A_JOB_OF_ONE = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}


def start(count, **variables):
    """Status, and what it said, of a process that is to be one of `count`."""
    plain = {key: value for key, value in os.environ.items()
             if not key.startswith(LAUNCHERS) and key not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run([program, "./no-nccl.so", "reduce", "no-file", str(count)],
                          env=plain | variables, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


class RanksTest(unittest.TestCase):
    def test_one_that_a_launcher_started_alone_is_refused(self):
        for one in (A_JOB_OF_ONE, {"PMI_RANK": "0", "PMI_SIZE": "1"}):
            status, said = start(2, **one)
            self.assertEqual(status, 1, said)
            self.assertIn("rank 0 of 1, and 2 processes were to be started", said)

    def test_a_rank_beyond_their_number_is_refused(self):
        status, said = start(2, RANK="2", WORLD_SIZE="2")
        self.assertEqual(status, 1, said)
        self.assertIn("rank 2 of 2", said)

    def test_what_started_this_process_comes_before_the_job_that_all_of_it_is_in(self):
        self.assertEqual(start(2, RANK="1", WORLD_SIZE="2", **A_JOB_OF_ONE)[0], NO_NCCL)
        of_mpi = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}
        self.assertEqual(start(2, **of_mpi, **A_JOB_OF_ONE)[0], NO_NCCL)

    def test_none_at_all_is_refused(self):
        status, said = start(1)
        self.assertEqual(status, 1, said)
        self.assertIn("does not say which rank", said)


if __name__ == "__main__":
    program = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)
