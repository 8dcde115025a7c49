#!/usr/bin/env python3
"""Misuse that the compiler must reject with a message that names the mistake. With `right` instead of HERE, the same
code must compile without a warning (the positive control)."""

import dataclasses
import shutil
import unittest

import compiler as compiler_module

CLANG = shutil.which('clang++')
OPTIONS = ['-Werror', '-Wall', '-Wextra', '-Wpedantic']

arguments = compiler_module.Arguments()


@dataclasses.dataclass
class Case:
    name: str
    pattern: str  # expected in the compiler's output
    headers: str
    code: str
    right: str
    wrong: str
    most_lines: int = 1000  # lines of output

    def text(self, here):
        includes = ''.join(f'#include <{header}>\n' for header in [*self.headers.split(), 'utility'])
        return f'{includes}using namespace cushim;\n{self.code.replace("HERE", here)}\n'


DELETED = r'(use of|call to) (implicitly-)?deleted (function|.*constructor)|implicitly[- ]deleted'
KERNEL = '''
Result<void> use([[maybe_unused]] const Kernel<void(float *, unsigned int)> &kernel, const Stream &stream,
                 [[maybe_unused]] float *values, [[maybe_unused]] std::size_t count) {
    return kernel.launch(stream, {}, HERE);
}'''

CASES = [
    Case('argument of other type', '(invalid conversion|cannot initialize a parameter|cannot convert)',
         'cushim/table.hpp', 'CUresult use() { HERE pointer = 0; return driver().cuMemAlloc(&pointer, 1); }',
         right='CUdeviceptr', wrong='void *'),
    Case('buffer copied', DELETED, 'cushim/host_mapped_buffer.hpp',
         'void use(HostMappedBuffer<int> &buffer) { HostMappedBuffer<int> other = HERE; }',
         right='std::move(buffer)', wrong='buffer'),
    Case('buffer of strings', 'constraint|DeviceType', 'cushim/host_mapped_buffer.hpp string',
         'bool use(const Context &in) { return HostMappedBuffer<HERE>::allocate(in, 1).has_value(); }',
         right='char', wrong='std::string'),
    Case('growable buffer of strings', 'constraint|DeviceType', 'cushim/growable_buffer.hpp string',
         'GrowableBuffer<HERE> buffer;', right='char', wrong='std::string'),
    Case('copy into const', 'destination::is_const<int>', 'cushim/copy.hpp',
         '''bool use(const Stream &stream, DeviceSpan<HERE> to, DeviceSpan<const int> from) {
                return copy(stream, to, from).has_value();
            }''', right='int', wrong='const int'),
    Case('semaphore of another kind', 'could not convert|no viable conversion', 'cushim/external_semaphore.hpp',
         'TimelineSemaphore use(HERE &&semaphore) { return std::move(semaphore); }',
         right='TimelineSemaphore', wrong='BinarySemaphore'),
    # A const buffer does not change, whoever writes to it.
    Case('const buffer filled', 'destination::is_const<int>', 'cushim/device_buffer.hpp',
         'bool use(HERE DeviceBuffer<int> &buffer) { return fill(buffer, 1).has_value(); }', right='', wrong='const'),
    Case('const buffer filled in a stream', 'destination::is_const<int>', 'cushim/device_buffer.hpp',
         'bool use(const Stream &in, HERE DeviceBuffer<int> &buffer) { return fill(in, buffer, 1).has_value(); }',
         right='', wrong='const'),
    Case('copy into const buffer', 'destination::is_const<int>', 'cushim/growable_buffer.hpp cushim/copy.hpp',
         '''bool use(HERE GrowableBuffer<int> &to, const std::vector<int> &from) { return copy(to, from).has_value(); }''',
         right='', wrong='const'),
    Case('copy into const pinned buffer', 'destination::is_const<int>', 'cushim/pinned_buffer.hpp cushim/copy.hpp',
         '''bool use(const Stream &in, HERE PinnedBuffer<int> &to, DeviceSpan<const int> from) {
                return copy(in, to, from).has_value();
            }''', right='', wrong='const'),
    Case('copy into const image', 'destination::is_const<int>', 'cushim/pitched_buffer.hpp cushim/copy.hpp',
         '''bool use(const Stream &in, HERE PitchedBuffer<int> &to, HostPitchedSpan<const int> from) {
                return copy(in, to, from).has_value();
            }''', right='', wrong='const'),
    Case('const buffer as a writable span', '(could not convert|no viable conversion|discards qualifiers)',
         'cushim/pool_buffer.hpp', 'DeviceSpan<int> use(HERE PoolBuffer<int> &buffer) { return buffer; }',
         right='', wrong='const'),
    Case('const managed buffer as a writable span', '(could not convert|no viable conversion)',
         'cushim/managed_buffer.hpp', 'std::span<int> use(HERE ManagedBuffer<int> &buffer) { return buffer.span(); }',
         right='', wrong='const'),
    Case('const mapped buffer as writable device memory', "(invalid conversion|cannot initialize return object)",
         'cushim/host_mapped_buffer.hpp', 'int *use(HERE HostMappedBuffer<int> &buffer) { return buffer.device_data(); }',
         right='', wrong='const'),
    Case('const buffer for a kernel that writes', 'does_not_fit', 'cushim/device_buffer.hpp cushim/kernel.hpp',
         '''Result<void> use(const Kernel<void(int *)> &kernel, const Stream &stream, HERE DeviceBuffer<int> &buffer) {
                return kernel.launch(stream, {}, buffer);
            }''', right='', wrong='const'),
    Case('const buffer filled by a node', 'destination::is_const<int>',
         'cushim/device_buffer.hpp cushim/graph.hpp',
         '''bool use(Graph &graph, HERE DeviceBuffer<int> &buffer) {
                return graph.add_memset_node({}, buffer, 1).has_value();
            }''', right='', wrong='const'),
    Case('copy of other type', 'source::does_not_fit<float, *int>', 'cushim/copy.hpp',
         '''bool use(const Stream &stream, DeviceSpan<int> to, std::span<const HERE> from) {
                return copy(stream, to, from).has_value();
            }''', right='int', wrong='float'),
    Case('copy of other type into a vector', 'source::does_not_fit<float, *int>', 'cushim/cushim.hpp vector',
         '''bool use(std::vector<HERE> &to, const DeviceBuffer<float> &from) {
                return copy(to, from).has_value();
            }''', right='float', wrong='int'),
    Case('fill of 3 bytes', 'destination::cannot_be_filled<Pixel>', 'cushim/cushim.hpp',
         'struct Pixel { char colors[HERE]; }; bool use(DeviceBuffer<Pixel> &to) { return fill(to, Pixel()).has_value(); }',
         right='4', wrong='3'),
    Case('fill of 16 bytes in a stream', 'destination::cannot_be_filled<Pair>', 'cushim/cushim.hpp',
         '''struct Pair { float numbers[HERE]; };
            bool use(const Stream &in, DeviceSpan<Pair> to) { return fill(in, to, Pair()).has_value(); }''',
         right='2', wrong='4'),
    Case('rows filled with 8 bytes', 'destination::cannot_be_filled<double>', 'cushim/cushim.hpp',
         'bool use(PitchedBuffer<HERE> &to) { return fill(to, 0.0f).has_value(); }', right='float', wrong='double'),
    Case('node that copies elements of other type', 'source::does_not_fit<float, *int>', 'cushim/cushim.hpp',
         '''bool use(Graph &graph, DeviceSpan<int> to, DeviceSpan<const HERE> from) {
                return graph.add_memcpy_node({}, to, from).has_value();
            }''', right='int', wrong='float'),
    Case('set node that copies elements of other type', 'source::does_not_fit<float, *int>', 'cushim/cushim.hpp',
         '''bool use(GraphExec &exec, const GraphNode &node, PinnedBuffer<int> &to, DeviceBuffer<HERE> &from) {
                return exec.set_memcpy_node(node, to, from).has_value();
            }''', right='int', wrong='float'),
    Case('set node that fills with 3 bytes', 'destination::cannot_be_filled<Pixel>', 'cushim/cushim.hpp',
         '''struct Pixel { char colors[HERE]; };
            bool use(GraphExec &exec, const GraphNode &node, DeviceBuffer<Pixel> &to) {
                return exec.set_memset_node(node, to, Pixel()).has_value();
            }''', right='4', wrong='3'),
    Case('node that fills with 8 bytes', 'destination::cannot_be_filled<double>',
         'cushim/cushim.hpp',
         'bool use(Graph &graph, DeviceSpan<HERE> to) { return graph.add_memset_node({}, to, 1).has_value(); }',
         right='int', wrong='double'),
    Case('copy of image into line', 'source::has_other_shape<', 'cushim/copy.hpp',
         '''bool use(const Stream &stream, const HERE &to, const HostPitchedSpan<int> &pixels) {
                return copy(stream, to, pixels).has_value();
            }''', right='DevicePitchedSpan<int>', wrong='DeviceSpan<int>'),
    Case('copy within host memory', 'destination::is_in_host_memory<int>', 'cushim/cushim.hpp',
         'bool use(const Stream &stream, HERE to, std::span<int> from) { return copy(stream, to, from).has_value(); }',
         right='DeviceSpan<int>', wrong='PinnedBuffer<int> &'),
    Case('node that copies within host memory', 'destination::is_in_host_memory<int>', 'cushim/cushim.hpp',
         """bool use(Graph &graph, HERE to, PinnedBuffer<int> &from) {
                return graph.add_memcpy_node({}, to, from).has_value();
            }""", right='DeviceSpan<int>', wrong='PinnedBuffer<int> &'),
    Case('fill of host memory', 'destination::is_in_host_memory<int>', 'cushim/cushim.hpp',
         'bool use(HERE<int> &to) { return fill(to, 1).has_value(); }', right='DeviceBuffer', wrong='PinnedBuffer'),
    Case('fill of host memory in a stream', 'destination::is_in_host_memory<int>', 'cushim/cushim.hpp',
         'bool use(const Stream &in, HERE<int> &to) { return fill(in, to, 1).has_value(); }',
         right='DeviceBuffer', wrong='PinnedBuffer'),
    Case('integers filled with a fraction', 'fill_value::does_not_fit<double, *int>', 'cushim/cushim.hpp',
         'bool use(const Stream &in, DeviceSpan<HERE> to) { return fill(in, to, 1.5).has_value(); }',
         right='double', wrong='int'),
    Case('node that fills integers with a fraction', 'fill_value::does_not_fit<float, *unsigned char>',
         'cushim/cushim.hpp',
         """bool use(GraphExec &exec, const GraphNode &node, DeviceBuffer<HERE> &to) {
                return exec.set_memset_node(node, to, 0.5f).has_value();
            }""", right='float', wrong='unsigned char'),
    Case('fill with a value of other type', 'fill_value::does_not_fit<std::nullptr_t, *int>', 'cushim/cushim.hpp',
         'bool use(DeviceBuffer<int> &to) { return fill(to, HERE).has_value(); }', right='{}', wrong='nullptr'),
    Case('descriptor copied', DELETED, 'cushim/unique_fd.hpp',
         'void use(UniqueFd &descriptor) { UniqueFd other = HERE; }',
         right='std::move(descriptor)', wrong='descriptor'),
    # Adopting a number must be explicit.
    Case('descriptor adopted implicitly', "(could not convert|no viable conversion).* 'int' to .*'cushim::UniqueFd'",
         'cushim/unique_fd.hpp', 'UniqueFd use(int descriptor) { return HERE; }',
         right='UniqueFd(descriptor)', wrong='descriptor'),
    Case('external buffer shared', 'has no member named .share|no member named .share', 'cushim/external_memory.hpp',
         'void use(ExternalBuffer &buffer) { auto other = HERE; }',
         right='std::move(buffer)', wrong='buffer.share()'),
    Case('external KMT handle by name',
         'invalid conversion|no matching function|cannot (convert|initialize)|could not convert',
         'cushim/external_memory.hpp',
         'void use([[maybe_unused]] void *handle) { (void)ExternalMemorySource::opaque_win32_kmt(HERE); }',
         right='handle', wrong='L"memory"'),
    Case('external memory copied', DELETED, 'cushim/external_memory.hpp',
         'void use(const ExternalMemory &memory) { auto copy = HERE; }', right='memory.share()', wrong='memory'),
    # CUDA closes whole allocations, of which this is only a part.
    Case('IPC memory released', 'deleted', 'cushim/ipc.hpp', 'void use(IpcMemory &memory) { (void)memory.HERE(); }',
         right='reset', wrong='release'),
    # One error, which names the argument that does not fit.
    Case('kernel argument in CUSHIM_TRY', 'argument<1>::does_not_fit<double, unsigned int>', 'cushim/cushim.hpp',
         '''Result<void> use(const Kernel<void(int *, unsigned int)> &kernel, const Stream &stream,
                             DeviceBuffer<int> &buffer) {
                CUSHIM_TRY_VOID(kernel.launch(stream, {}, buffer, HERE));
                return {};
            }''', right='10', wrong='10.0', most_lines=20),
    Case('kernel node argument of other type', 'argument<0>::does_not_fit<.*float', 'cushim/cushim.hpp',
         '''Result<GraphNode> use(Graph &graph, const Kernel<void(int *)> &kernel, DeviceBuffer<HERE> &buffer) {
                return graph.add_kernel_node({}, kernel, {}, buffer);
            }''', right='int', wrong='float'),
    Case('set kernel node argument missing', 'wrong_number_of_arguments<0, *1>', 'cushim/cushim.hpp',
         '''Result<void> use(GraphExec &exec, const GraphNode &node, const Kernel<void(int)> &kernel) {
                return exec.set_kernel_node(node, kernel, LaunchConfig()HERE);
            }''', right=', 1', wrong=''),
    Case('covering argument missing', 'wrong_number_of_arguments<0, *1>', 'cushim/kernel.hpp',
         '''Result<void> use(const Stream &stream, const Kernel<void(int)> &kernel) {
                return kernel.launch_covering(stream, 10HERE);
            }''', right=', 1', wrong=''),
    Case('span of a temporary buffer', 'deleted', 'cushim/pinned_buffer.hpp',
         'std::span<int> use(PinnedBuffer<int> &buffer) { return HERE.span(); }', right='buffer',
         wrong='PinnedBuffer<int>()'),
    Case('awaited span of a temporary buffer', 'deleted', 'cushim/managed_buffer.hpp',
         'bool use(const Stream &in, ManagedBuffer<int> &buffer) { return HERE.synchronized_span(in).has_value(); }',
         right='buffer', wrong='ManagedBuffer<int>()'),
    Case('address in a temporary buffer', 'deleted', 'cushim/device_buffer.hpp',
         'int *use(DeviceBuffer<int> &buffer) { return HERE.data(); }', right='buffer', wrong='DeviceBuffer<int>()'),
    # Deduction must not choose the function without parameters.
    Case('kernel of an overloaded function', 'no matching function for call to .*kernel_of', 'cushim/kernel.hpp',
         '''void scale();
            void HERE(int);
            bool use(const Context &context) { return kernel_of(context, scale).has_value(); }''',
         right='other', wrong='scale'),
    Case('kernel argument missing', 'wrong_number_of_arguments', 'cushim/kernel.hpp', KERNEL,
         right='values, 1U', wrong='values'),
    Case('kernel argument narrowed', 'does_not_fit', 'cushim/kernel.hpp', KERNEL,
         right='values, count', wrong='values, 1.5'),
    Case('kernel argument of other type', 'does_not_fit', 'cushim/device_buffer.hpp cushim/kernel.hpp', KERNEL,
         right='DeviceBuffer<float>(), 1U', wrong='DeviceBuffer<double>(), 1U'),
    # An array would decay to a host pointer, which a kernel cannot use.
    Case('kernel argument of the host', 'does_not_fit', 'cushim/kernel.hpp',
         'float array[4];\n' + KERNEL.replace('void(float *', 'void(const float *'),
         right='DeviceSpan<const float>(), 4U', wrong='array, 4U'),
    # The module owns the code.
    Case('kernel closed', 'deleted', 'cushim/kernel.hpp', 'void use(Kernel<void()> &kernel) { (void)kernel.HERE(); }',
         right='reset', wrong='close'),
    Case('kernel of strings', 'must be trivially copyable', 'cushim/kernel.hpp string', 'Kernel<void(HERE)> kernel;',
         right='const char *', wrong='std::string'),
    Case('kernel that returns a value', 'the signature of a kernel must be', 'cushim/kernel.hpp',
         'Kernel<HERE(float *)> kernel;', right='void', wrong='int'),
    Case('mapped range copied', DELETED, 'cushim/virtual_memory.hpp',
         'void use(const MappedRange &mapped) { const MappedRange second = HERE; }',
         right='mapped.share()', wrong='mapped'),
    Case('override copied', DELETED, 'cushim/override.hpp',
         '''CUresult replacement(unsigned int) { return CUDA_SUCCESS; }
            void use() { ScopedOverride<entry::cuInit> init(replacement); HERE }''',
         right='', wrong='auto copy = init;'),
    Case('override of other type', 'invalid conversion from|no matching (function|constructor) for .*ScopedOverride',
         'cushim/override.hpp',
         '''CUresult replacement(HERE) { return CUDA_SUCCESS; }
            void use() { ScopedOverride<entry::cuInit> init(replacement); }''', right='unsigned int', wrong='int'),
    Case('pfn of the driver on the runtime', 'belongs to the driver API', 'cushim/entry.hpp',
         'bool use() { return HERE().pfn<entry::cuMemAlloc>().has_value(); }', right='driver', wrong='runtime'),
    Case('pfn of the runtime on the driver', 'belongs to the runtime API', 'cushim/entry.hpp',
         'bool use() { return HERE().pfn<entry::cudaMalloc>().has_value(); }', right='runtime', wrong='driver'),
    Case('registration copied', DELETED, 'cushim/host_registration.hpp',
         'void use(HostRegistration<int> &registration) { HostRegistration<int> other = HERE; }',
         right='std::move(registration)', wrong='registration'),
    Case('result ignored', 'nodiscard', 'cushim/init.hpp', 'void use() { HERE init(); }', right='(void)', wrong=''),
    Case('semaphore of other kind', 'no matching function|too many arguments',
         'cushim/external_semaphore.hpp cushim/stream.hpp',
         'void use(const HERE &semaphore, const Stream &stream) { (void)semaphore.wait(stream, 7); }',
         right='TimelineSemaphore', wrong='BinarySemaphore'),
    Case('binary semaphore with a value', 'no matching function|too many arguments',
         'cushim/external_semaphore.hpp cushim/stream.hpp',
         'void use(const BinarySemaphore &semaphore, const Stream &stream) { (void)semaphore.wait(HERE); }',
         right='stream', wrong='stream, 7'),
    Case('semaphore signaled in a wait', 'no matching function|could not convert|no viable conversion',
         'cushim/external_semaphore.hpp cushim/stream.hpp',
         '''void use(const TimelineSemaphore &timeline, const Stream &stream) {
                (void)wait_semaphores(stream, {timeline.HERE(7)});
            }''', right='waiting', wrong='signaling'),
    Case('CUSHIM_TRY without a result', '(could not convert|cannot convert|no viable conversion)', 'cushim/loader.hpp',
         'HERE use() { CUSHIM_TRY_VOID(load_driver()); return 0; }', right='Result<int>', wrong='int'),
    Case('unknown entry point',
         '(no member named|is not a member of|has no member named) .*cuNoSuchFunction|'
         'cuNoSuchFunction.* is not a member',
         'cushim/table.hpp', 'CUresult use() { return driver().HERE(0); }', right='cuInit', wrong='cuNoSuchFunction'),
]

# GCC does not know the attribute.
CASES_FOR_CLANG = [
    Case('text of a temporary error', 'dangling', 'cushim/result.hpp',
         '''Result<int> make();
            char use() { [[maybe_unused]] const Error error = Error::invalid_argument("no");
                const char *text = HERE; return text[0]; }''',
         right='error.message()', wrong='make().error().message()'),
    Case('text of a temporary text', 'dangling', 'cushim/stream.hpp',
         '''char use(const Stream &stream) { [[maybe_unused]] const Text text = to_text(stream);
                const char *characters = HERE; return characters[0]; }''',
         right='text.c_str()', wrong='to_text(stream).c_str()'),
    Case('value of a temporary Result', 'dangling', 'cushim/result.hpp',
         'Result<int> make(); int use() { HERE value = *make(); return value; }',
         right='const int', wrong='const int &'),
]


class Misuse(unittest.TestCase):
    def test_every_case(self):
        self.check(arguments.compiler, CASES)

    @unittest.skipIf(CLANG is None, 'needs clang++')
    def test_references_to_temporaries(self):
        self.check(arguments.other(CLANG), CASES_FOR_CLANG)

    def check(self, compiler, cases):
        for case in cases:
            with self.subTest(case.name):
                control = compiler.run(case.text(case.right), *OPTIONS)
                self.assertEqual(control.returncode, 0, control.stderr[:4000])
                refused = compiler.run(case.text(case.wrong), *OPTIONS)
                self.assertNotEqual(refused.returncode, 0, 'it compiles')
                self.assertRegex(refused.stderr, case.pattern)
                self.assertLessEqual(len(refused.stderr.splitlines()), case.most_lines, refused.stderr)


if __name__ == '__main__':
    unittest.main(verbosity=2)
