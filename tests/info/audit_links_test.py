#!/usr/bin/env python3
"""The advice of cushim-info --audit if the file that links a CUDA library does not use it, or no file seems to
use it."""

import unittest

from audit_case import AuditCase, made_pe

LEAVE_OUT = 'out of the link, or link with -Wl,--as-needed.'
BORROWED = 'but finds them only because another file links it.'


class Links(AuditCase):
    def advice_on(self, **program):
        return self.advice(self.audit_app(**program))

    def test_library_without_a_used_function(self):
        """The library may still be used by dlsym, which the advice must mention."""
        advice = self.advice_on(needed=['libcuda.so.1'], undefined=['dlsym'])
        self.assertIn(f'app links libcuda.so.1 but uses none of its functions. Leave it {LEAVE_OUT}', advice)
        self.assertIn('Code that looks functions up by name (dlsym) must then load it itself.', advice)
        self.assertNotIn(BORROWED, advice)
        self.assertIn('(none of its functions is used)', self.text)

    def test_two_libraries_without_a_used_function(self):
        advice = self.advice_on(needed=['libcuda.so.1', 'libcudart.so.13'])
        self.assertIn('app links libcuda.so.1 and libcudart.so.13 but uses none of their functions. '
                      f'Leave them {LEAVE_OUT}', advice)

    def test_library_uses_what_the_program_links(self):
        self.library('lib/libfoo.so', undefined=['cuInit'])
        advice = self.advice_on(needed=['libfoo.so', 'libcuda.so.1'])
        self.assertIn('app links libcuda.so.1 but uses none of its functions. libfoo.so uses it without '
                      f'linking it; once that is fixed, leave it {LEAVE_OUT}', advice)
        self.assertIn(f'libfoo.so uses functions of libcuda.so.1, {BORROWED} Link cushim\'s drop-in into it '
                      '(cushim-dropin), or into the program', advice)

    def test_several_libraries_use_what_the_program_links(self):
        for name in ('libfoo.so', 'libbar.so'):
            self.library(f'lib/{name}', undefined=['cuInit'])
        advice = self.advice_on(needed=['libfoo.so', 'libbar.so', 'libcuda.so.1'])
        self.assertIn('libfoo.so and libbar.so use it without linking it; once that is fixed', advice)
        self.assertEqual(advice.count(BORROWED), 2)

    def test_library_uses_what_the_program_links_and_it_exists(self):
        """The library is identified by the functions it defines, not by its name."""
        self.library('lib/libcuda.so.1', soname='libcuda.so.1', defined=['cuInit'])
        self.test_library_uses_what_the_program_links()

    def test_program_uses_what_a_library_links(self):
        self.library('lib/libfoo.so', needed=['libcuda.so.1'])
        advice = self.advice_on(needed=['libfoo.so'], undefined=['cuInit'])
        self.assertIn('libfoo.so links libcuda.so.1 but uses none of its functions. app uses it', advice)
        self.assertIn(f'app uses functions of libcuda.so.1, {BORROWED}', advice)

    def test_program_and_library_use_what_the_program_links(self):
        """If the program had its own drop-in instead of -lcuda, it would no longer serve the library."""
        self.library('lib/libfoo.so', undefined=['cuMemAlloc_v2'])
        advice = self.advice_on(needed=['libfoo.so', 'libcuda.so.1'], undefined=['cuInit'])
        self.assertIn('app links libcuda.so.1: link cushim\'s drop-in', advice)
        self.assertIn(f'libfoo.so uses functions of libcuda.so.1, {BORROWED}', advice)

    def test_each_links_what_it_uses(self):
        self.library('lib/libfoo.so', needed=['libcuda.so.1'], undefined=['cuInit'])
        advice = self.advice_on(needed=['libfoo.so', 'libcuda.so.1'])
        self.assertIn(f'app links libcuda.so.1 but uses none of its functions. Leave it {LEAVE_OUT}', advice)
        self.assertNotIn(BORROWED, advice)

    def test_program_defines_the_functions(self):
        self.library('lib/libfoo.so', undefined=['cuInit'])
        advice = self.advice_on(needed=['libfoo.so', 'libcuda.so.1'], defined=['cuInit'])
        self.assertIn(f'Leave it {LEAVE_OUT}', advice)
        self.assertNotIn(BORROWED, advice)

    def test_program_and_library_link_it_by_different_names(self):
        self.library('lib/libfoo.so', needed=['libcuda.so'], undefined=['cuMemAlloc_v2'])
        advice = self.advice_on(needed=['libcuda.so.1', 'libfoo.so'], undefined=['cuInit'])
        self.assertIn('app links libcuda.so.1: link cushim\'s drop-in', advice)
        self.assertIn('libfoo.so links libcuda.so: link cushim\'s drop-in', advice)
        self.assertNotIn(BORROWED, advice)

    def test_library_can_do_without_what_the_program_links(self):
        self.library('lib/libfoo.so', weak=['cuInit'])
        advice = self.advice_on(needed=['libfoo.so', 'libcuda.so.1'])
        self.assertIn(f'app links libcuda.so.1 but uses none of its functions. Leave it {LEAVE_OUT}', advice)
        self.assertNotIn(BORROWED, advice)

    def test_library_uses_a_function_that_the_dropin_lacks(self):
        self.library('lib/libfoo.so', undefined=['cuGraphicsGLRegisterBuffer'])
        advice = self.advice_on(needed=['libfoo.so', 'libcuda.so.1'])
        self.assertIn(f'{BORROWED} The drop-in lacks cuGraphicsGLRegisterBuffer: link -lcuda', advice)
        self.assertNotIn('Link cushim', advice)

    def test_windows_imports_name_their_library(self):
        for how in ('needed', 'delayed'):
            app = self.write('app.exe', made_pe.make(**{how: {'nvcuda.dll': ['cuInit']}}))
            self.assertNotIn(BORROWED, self.advice(self.audit(app)))


if __name__ == '__main__':
    unittest.main(verbosity=2)
