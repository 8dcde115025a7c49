#!/usr/bin/env python3
"""A Meson project that has cushim as a subproject, through a wrap file with [provide]."""

import hashlib
import json
import re
import shutil
import tarfile

import consumer
import readme
from consumer import CONSUMERS, arguments, run

consumer.need('meson')
folder = consumer.fresh_folder(__file__)
project, build = folder / 'source/meson', folder / 'build'
# The parts of a release that a consumer needs.
RELEASED = ('LICENSE', 'meson.build', 'meson_options.txt', 'include', 'src', 'tests', 'tools')

# The link arguments of a program in build.ninja.
LINK = re.compile(r'^build (\S+): c(?:pp)?_LINKER .*\n(?: .*\n)*? LINK_ARGS = (.*)', re.MULTILINE)


def make_release(path):
    name = f'cushim-{arguments.version}'
    with tarfile.open(path / f'{name}.tar.gz', 'w:gz') as archive:
        for part in RELEASED:
            archive.add(arguments.source / part, f'{name}/{part}',
                        filter=lambda info: None if '__pycache__' in info.name else info)
    return hashlib.sha256((path / f'{name}.tar.gz').read_bytes()).hexdigest()


def make_project():
    shutil.copytree(CONSUMERS, folder / 'source')
    packages = project / 'subprojects/packagefiles'
    packages.mkdir()
    template = project / 'subprojects/cushim.wrap.in'
    text = template.read_text(encoding='utf-8').replace('@version@', arguments.version)
    template.with_suffix('').write_text(text.replace('@hash@', make_release(packages)),
                                        encoding='utf-8')
    # The program of README.md, built as a reader builds it.
    (project / 'app.cpp').write_text(readme.block('cpp'), encoding='utf-8')
    with (project / 'meson.build').open('a', encoding='utf-8') as file:
        file.write(readme.block('meson'))


def set_up(path, **environment):
    return run('meson', 'setup', path, project, '--buildtype=plain', *consumer.headers_option('cushim:headers_dir'),
               f'-Ddefault_library={arguments.type}', **environment)


class Subproject(consumer.ConsumerTest):
    @classmethod
    def setUpClass(cls):
        make_project()
        cls.said = set_up(build)
        run('meson', 'compile', '-C', build)

    def test_programs_run(self):
        self.check_cpp(build / 'hello')
        self.check_c(build / 'hello_c')
        for program in ('existing_c', 'existing_cpp'):
            self.check_existing(build / program, arguments.type != 'static')
            self.check_small(build / program, 'cuInit', 'cudaGetDeviceCount')
        self.check_driver_api(build / 'driver', arguments.type != 'static')
        self.check_small(build / 'driver', 'cuInit')

    def test_program_of_the_readme_runs(self):
        readme.check_app(self, build / 'app')

    def test_archives_beside_shared_libraries_can_be_linked(self):
        if arguments.type != 'both':
            self.skipTest('only one kind is built')
        self.check_cpp(build / 'hello_archive')
        self.check_linked(build / 'hello_archive', False)
        self.check_existing(build / 'existing_archive', False)

    def test_programs_are_linked_as_requested(self):
        for program in ('hello', 'hello_c'):
            self.check_linked(build / program, arguments.type != 'static')

    def test_no_tests_and_tools_are_built(self):
        targets = json.loads(run('meson', 'introspect', '--targets', build))
        names = {target['name'] for target in targets if target['type'] == 'executable'}
        archives = {'hello_archive', 'existing_archive'} if arguments.type == 'both' else set()
        self.assertEqual(names, {'app', 'hello', 'hello_c', 'existing_c', 'existing_cpp', 'driver', 'too_old'} | archives)
        subprojects = json.loads(run('meson', 'introspect', '--projectinfo', build))['subprojects']
        self.assertEqual([subproject['name'] for subproject in subprojects], ['cushim'])

    def test_subproject_has_the_version_of_the_cuda_headers(self):
        self.assertRegex(self.said, rf'CUDA headers\s*: {arguments.cuda_version}\b')

    def test_version_script_is_passed_to_linkers_that_need_it(self):
        """Only linkers that need it for versions get it."""
        for linker, wanted in (('bfd', False), ('gold', False), ('lld', True), ('mold', True)):
            if not shutil.which(f'ld.{linker}'):
                print(f'{linker}: not on this machine')
                continue
            with self.subTest(linker=linker):
                path = folder / f'build-{linker}'
                set_up(path, CC_LD=linker, CXX_LD=linker)
                links = LINK.findall((path / 'build.ninja').read_text(encoding='utf-8'))
                self.assertIn('existing_cpp', [program for program, _ in links])
                scripted = [program for program, words in links
                            if 'cushim-dropin-exported.map' in words]
                self.assertEqual(scripted, ['existing_cpp'] if wanted else [])

    def test_older_language_is_rejected_with_a_reason(self):
        text = run('meson', 'compile', '-C', build, 'too_old', fails=True)
        self.assertIn('cushim needs C++20', text)


if __name__ == '__main__':
    consumer.main()
