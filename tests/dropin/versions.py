"""The version that the runtime API's functions have in the exported archive: one for each major version of
CUDA, whose structures differ."""

import binaries

PREFIX = 'CUSHIM_'


def of_archive(archive):
    """Its name; as it was given where the archive was compiled."""
    found = {name.partition('@@')[2] for _, member in binaries.archive_members(archive)
             for name, here, _ in binaries.Elf(member).symbols() if here and '@@' in name}
    version, = found
    if not version.startswith(PREFIX):
        raise AssertionError(f'{archive.name}: version {version}')
    return version


def major_of_archive(archive):
    """That of the headers that the drop-in was built with."""
    return int(of_archive(archive)[len(PREFIX):])
