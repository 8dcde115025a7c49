#!/usr/bin/env python3
"""spack_check.py PACKAGE_PY: loads the Spack package with stand-ins for Spack's directives, and prints the options that it
passes to Meson, one a line. A name that Spack does not have is an error."""

import pathlib
import sys
import types


class Package:
    declared = []


class Prefix(str):
    def __getattr__(self, name):
        return Prefix(f'{self}/{name}')


class Spec:
    prefix = Prefix('/prefix')

    def __getitem__(self, name):
        if not any(call[0] == 'depends_on' and call[1].startswith(name) for call in Package.declared):
            raise KeyError(f'{name} is not a dependency')
        return Spec()

    def satisfies(self, text):
        name = text.lstrip('+~')
        if not any(call[:2] == ('variant', name) for call in Package.declared):
            raise KeyError(f'{name} is not a variant')
        return text.startswith('+')


def directive(name):
    return lambda *words, **named: Package.declared.append((name, *words))


def main():
    directives = {name: directive(name) for name in (
        'maintainers', 'license', 'version', 'variant', 'depends_on', 'requires', 'conflicts', 'patch')}
    package = types.ModuleType('spack.package')
    package.__dict__.update(directives, which=None, SkipTest=Exception)
    package.__all__ = list(package.__dict__)
    meson = types.ModuleType('spack_repo.builtin.build_systems.meson')
    meson.MesonPackage = Package
    sys.modules.update({'spack': types.ModuleType('spack'), 'spack.package': package, meson.__name__: meson})
    for parent in ('spack_repo', 'spack_repo.builtin', 'spack_repo.builtin.build_systems'):
        sys.modules[parent] = types.ModuleType(parent)
    names = {}
    path = pathlib.Path(sys.argv[1])
    exec(compile(path.read_text(encoding='utf-8'), path, 'exec'), names)
    built = names['Cushim']()
    built.spec = Spec()
    print('\n'.join(built.meson_args()))
    return 0


if __name__ == '__main__':
    sys.exit(main())
