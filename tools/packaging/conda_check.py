#!/usr/bin/env python3
"""conda_check.py RECIPE HEADERS OUTPUT: builds the conda package with rattler-build and runs the recipe's tests, without
network. The packages that it needs are stand-ins in a local channel: those of build tools are empty, so that the tools
of this system are used, and those of CUDA have the headers in HEADERS."""

import bz2
import hashlib
import io
import json
import os
import pathlib
import shutil
import sys
import tarfile

import rattler_build
from rattler_build import EnvironmentIsolation, Stage0Recipe, ToolConfiguration, VariantConfig

CUDA = '13.0'
EMPTY = {'gcc_linux-64': '14.0', 'gxx_linux-64': '14.0', 'sysroot_linux-64': '2.28', 'meson': '1.2.0',
         'ninja': '1.11', 'pkg-config': '0.29', 'python': '3.11.0', 'cuda-version': CUDA, 'cuda-crt': CUDA}


def write_package(channel, name, version, files):
    """A package with these files: paths and contents. Returns its entry in the list of packages."""
    index = {'name': name, 'version': version, 'build': '0', 'build_number': 0, 'depends': [], 'subdir': 'linux-64'}
    paths = [{'_path': path, 'path_type': 'hardlink', 'sha256': hashlib.sha256(data).hexdigest(),
              'size_in_bytes': len(data)} for path, data in files.items()]
    members = {'info/index.json': json.dumps(index).encode(), 'info/files': '\n'.join(files).encode(),
               'info/paths.json': json.dumps({'paths': paths, 'paths_version': 1}).encode(), **files}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode='w') as archive:
        for path, data in members.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    data = bz2.compress(packed.getvalue())
    file_name = f'{name}-{version}-0.tar.bz2'
    (channel / 'linux-64' / file_name).write_bytes(data)
    return file_name, {**index, 'size': len(data), 'sha256': hashlib.sha256(data).hexdigest(),
                       'md5': hashlib.md5(data).hexdigest()}


def write_channel(channel, headers):
    shutil.rmtree(channel, ignore_errors=True)
    (channel / 'linux-64').mkdir(parents=True)
    (channel / 'noarch').mkdir()
    cuda = {f'targets/x86_64-linux/include/{path.relative_to(headers)}': path.read_bytes()
            for path in headers.rglob('*') if path.is_file()}
    packages = dict(write_package(channel, name, version, {}) for name, version in EMPTY.items())
    packages.update([write_package(channel, 'cuda-cudart-dev', CUDA, cuda)])
    for subdir, listed in (('linux-64', packages), ('noarch', {})):
        (channel / subdir / 'repodata.json').write_text(json.dumps(
            {'info': {'subdir': subdir}, 'packages': listed, 'packages.conda': {}}), encoding='utf-8')


def main():
    recipe, headers, output = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    write_channel(output / 'channel', headers)
    os.environ['MESON_ARGS'] = '--buildtype=plain'  # conda-forge's compilers set it; this builds faster
    given = Stage0Recipe.from_file(recipe / 'recipe.yaml')
    everything = VariantConfig.from_file(recipe / 'variants.yaml')
    of_conda_forge = {'c_compiler': ['gcc'], 'c_compiler_version': ['14'], 'cxx_compiler': ['gxx'],
                      'cxx_compiler_version': ['14'], 'c_stdlib': ['sysroot'],
                      'c_stdlib_version': ['2.28']}
    count = len(given.render(VariantConfig({**everything.to_dict(), **of_conda_forge})))
    print(f'rattler-build {rattler_build.rattler_build_version()}: the recipe has {count} variants')
    variants = VariantConfig({**of_conda_forge, 'cuda_version': [CUDA], 'simulator': [False]})
    for variant in given.render(variants):
        result = variant.run_build(ToolConfiguration(test_strategy='native', use_sharded=False), output / 'built',
                                   channels=[(output / 'channel').as_uri()], no_build_id=True,
                                   env_isolation=EnvironmentIsolation.NONE)
        for package in result.packages:
            print(f'built and tested: {package}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
