#!/usr/bin/env python3
"""Prints the header folders of CUDA toolkits, one a line: those that exist below CUDA_PATH, CUDA_HOME
and /usr/local/cuda. Meson cannot read the environment itself.

usage: list_header_folders.py CPU_FAMILY
"""

import os
import sys

TARGETS = {'x86_64': ['x86_64-linux'], 'aarch64': ['sbsa-linux', 'aarch64-linux']}


def main():
    targets = TARGETS.get(sys.argv[1], [])
    roots = [os.environ.get('CUDA_PATH'), os.environ.get('CUDA_HOME'), '/usr/local/cuda']
    for root in filter(None, roots):
        for part in ['include'] + [os.path.join('targets', t, 'include') for t in targets]:
            folder = os.path.join(root, part)
            if os.path.exists(os.path.join(folder, 'cuda.h')):
                print(folder)


if __name__ == '__main__':
    main()
