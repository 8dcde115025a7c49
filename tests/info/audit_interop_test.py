#!/usr/bin/env python3
"""The advice of cushim-info --audit about functions of the CUDA interop headers (OpenGL, EGL, VDPAU, Direct3D),
which cushim's drop-in does not have."""

import unittest

from audit_case import DROPIN, AuditCase, made_elf, made_pe

MARK = made_elf.note('cushim', DROPIN, '0.1.0 13000')
REGISTER = 'cuGraphicsGLRegisterBuffer'
RUNTIME_REGISTER = 'cudaGraphicsGLRegisterBuffer'


class Interop(AuditCase):
    def advice_on(self, **program):
        return self.advice(self.audit_app(**program))

    def test_link_described_in_the_readme(self):
        advice = self.advice_on(needed=['libcuda.so.1'], undefined=[REGISTER], notes=MARK)
        self.assertIn(f'keep -lcuda after the drop-in for {REGISTER}, which it lacks.', advice)
        self.assertIn('To start without CUDA, move the code that uses it into a library', advice)
        self.assertNotIn('from its link', advice)

    def test_dropin_replaces_the_other_library(self):
        advice = self.advice_on(needed=['libcuda.so.1', 'libcudart.so.13'], notes=MARK,
                                undefined=[REGISTER, 'cudaMalloc'])
        self.assertIn('remove -lcudart from its link, and keep -lcuda after the drop-in', advice)
        advice = self.advice_on(needed=['libcuda.so.1', 'libcudart.so.13'], notes=MARK,
                                undefined=[RUNTIME_REGISTER, 'cuInit'])
        self.assertIn('remove -lcuda from its link, and keep -lcudart after the drop-in for '
                      f'{RUNTIME_REGISTER}', advice)

    def test_program_without_the_dropin(self):
        advice = self.advice_on(needed=['libcuda.so.1'], undefined=['cuInit', REGISTER])
        self.assertIn("link cushim's drop-in (cushim-dropin), and keep -lcuda after it for "
                      f'{REGISTER}, which it lacks; the code stays as it is.', advice)
        self.assertNotIn('in place of', advice)
        advice = self.advice_on(needed=['libcuda.so.1', 'libcudart.so.13'],
                                undefined=[REGISTER, 'cudaMalloc'])
        self.assertIn('in place of -lcudart, and keep -lcuda after it for', advice)
        self.assertIn('-cudart shared', advice)
        advice = self.advice_on(needed=['libcuda.so.1', 'libcudart.so.13'],
                                undefined=['cuInit', RUNTIME_REGISTER])
        self.assertIn('in place of -lcuda, and keep -lcudart after it for', advice)
        self.assertNotIn('-cudart shared', advice)

    def test_dropin_without_any_of_the_functions_is_not_recommended(self):
        advice = self.advice_on(needed=['libcuda.so.1'], undefined=[REGISTER, 'cuGLGetDevices_v2'])
        self.assertIn(f"links libcuda.so.1 for cuGLGetDevices_v2, {REGISTER}, which cushim's "
                      'drop-in lacks. To start without CUDA, move the code that uses them into', advice)
        self.assertNotIn('(cushim-dropin)', advice)

    def test_library_used_by_the_program(self):
        self.library('lib/libfoo.so', needed=['libcuda.so.1'], undefined=['cuInit', REGISTER])
        advice = self.advice_on(needed=['libfoo.so'])
        self.assertIn(f'into it, and keep -lcuda after it for {REGISTER}, which it lacks. To start '
                      'without CUDA, load it when the program has found CUDA', advice)

    def test_undefined_functions(self):
        advice = self.advice_on(undefined=[REGISTER])
        self.assertIn(f'The drop-in lacks {REGISTER}: link -lcuda for that, after the drop-in', advice)
        self.assertNotIn("Link cushim's drop-in", advice)
        advice = self.advice_on(undefined=[RUNTIME_REGISTER, REGISTER, 'cuInit'])
        self.assertIn("Link cushim's drop-in into it (cushim-dropin)", advice)
        self.assertIn(f'lacks {REGISTER}, {RUNTIME_REGISTER}: link -lcuda and -lcudart',
                      advice)

    def test_windows_programs(self):
        app = self.write('app.exe', made_pe.make(
            needed={'nvcuda.dll': ['cuInit', 'cuD3D11GetDevice']}))
        advice = self.advice(self.audit(app))
        self.assertIn('keep cuda.lib after it for cuD3D11GetDevice, which it lacks', advice)
        self.assertIn('or link with /DELAYLOAD.', advice)
        app = self.write('app.exe', made_pe.make(
            delayed={'nvcuda.dll': ['cuInit', 'cuWGLGetDevice']}))
        self.assertIn("or link cushim's drop-in, which lacks cuWGLGetDevice.",
                      self.advice(self.audit(app)))

    def test_interop_functions_are_recognized(self):
        for name in ('cuGLInit', 'cuGLMapBufferObjectAsync_v2_ptsz', 'cuWGLGetDevice',
                     'cuEGLStreamConsumerConnect', 'cuGraphicsEGLRegisterImage',
                     'cuGraphicsResourceGetMappedEglFrame', 'cuEventCreateFromEGLSync',
                     'cuVDPAUCtxCreate_v2', 'cuGraphicsVDPAURegisterOutputSurface',
                     'cuGraphicsD3D9RegisterResource', 'cudaGLSetGLDevice', 'cudaWGLGetDevice',
                     'cudaEGLStreamProducerReturnFrame', 'cudaGraphicsEGLRegisterImage',
                     'cudaGraphicsResourceGetMappedEglFrame', 'cudaEventCreateFromEGLSync',
                     'cudaVDPAUSetVDPAUDevice', 'cudaGraphicsVDPAURegisterVideoSurface',
                     'cudaD3D11GetDevices'):
            self.check_function(name, True)
        for name in ('cuGraphicsMapResources', 'cuGraphicsResourceGetMappedPointer_v2',
                     'cuGraphicsUnregisterResource', 'cuEventCreate', 'cuGetProcAddress_v2',
                     'cudaGraphicsMapResources', 'cudaGraphicsResourceGetMappedPointer',
                     'cudaEventCreateWithFlags', 'cudaGetDevice'):
            self.check_function(name, False)

    def check_function(self, name, is_interop):
        library = 'libcudart.so.13' if name.startswith('cuda') else 'libcuda.so.1'
        advice = self.advice_on(needed=[library], undefined=[name], notes=MARK)
        self.assertIn('keep -l' if is_interop else 'from its link', advice, name)


if __name__ == '__main__':
    unittest.main(verbosity=2)
