"""The symbol version of the runtime API in the exported archive: one for each major version of CUDA, because
their structures differ."""

import binaries

PREFIX = 'CUSHIM_'


def of_archive(archive):
    """The version's name, as passed to the compilation of the archive."""
    found = {name.partition('@@')[2] for _, member in binaries.archive_members(archive)
             for name, here, _ in binaries.Elf(member).symbols() if here and '@@' in name}
    version, = found
    if not version.startswith(PREFIX):
        raise AssertionError(f'{archive.name}: version {version}')
    return version


def major_of_archive(archive):
    """The major version of the headers that the drop-in was built with."""
    return int(of_archive(archive)[len(PREFIX):])
