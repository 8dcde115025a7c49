#include "failures.hpp"

#include "harness/device_code.hpp"
#include "harness/simulator.hpp"
#include "support/ok.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/library.hpp>
#include <cushim/occupancy.hpp>

using namespace cushim;
using namespace api_test;

namespace {

const Device device = Device::from_native(0);

void expect_code(Failures &failures) {
    restart("");
    const Context empty, context = ok(Context::primary(device));
    const char cubin[20] = "\177ELF";
    failures.expect("Module::load: the Context is empty", Module::load(empty, device_code));
    failures.expect("Module::load: the image is null", Module::load(context, nullptr));
    failures.expect("Module::load: the image has size 0", Module::load(context, {"", 0}));
    failures.expect(
        "Module::load: the cubin is truncated: it has 20 bytes, but an ELF header has 64",
        Module::load(context, {cubin, sizeof cubin}));
    failures.expect("Module::load: JitOptions::optimization_level 5 exceeds the limit of 4",
                    Module::load(context, device_code, {.optimization_level = 5}));
    failures.expect(
        "Module::load: JitOptions::error_log_size of 1099511627776 bytes exceeds the limit of "
        "2147483647 bytes",
        Module::load(context, device_code, {.error_log_size = std::size_t(1) << 40}));
    failures.expect("Module::load: JitOptions::target 9.10: the minor version exceeds 9",
                    Module::load(context, device_code, {.target = {9, 10}}));
    failures.expect("Module::load: the compiler reports: ptxas application ptx input, line 8; "
                    "error   : Not a name of any known instruction: 'frobnicate' "
                    "(cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX)",
                    Module::load(context, broken_code));
    failures.expect("Module::load_file: /nonexistent/code.ptx cannot be read: No such file or "
                    "directory (CUDA_ERROR_FILE_NOT_FOUND)",
                    Module::load_file(context, "/nonexistent/code.ptx"));
    failures.expect("Module::load_file: the path is null", Module::load_file(context, nullptr));
    failures.expect("Module::load_file: / cannot be read: Is a directory "
                    "(CUDA_ERROR_FILE_NOT_FOUND)",
                    Module::load_file(context, "/"));
    const Module none, module = ok(Module::load(context, device_code));
    failures.expect("Module::adopt: the Context is empty", Module::adopt(empty, module.native()));
    failures.expect("Module::adopt: the handle is null", Module::adopt(context, nullptr));
    failures.expect("Module::kernel: the Module is empty", none.kernel("fill"));
    failures.expect("Module::kernel: the name is null", module.kernel(nullptr));
    failures.expect("Module::kernel: the name is \"\"", module.kernel(""));
    failures.expect("Module::global: the Module is empty", none.global<int>("counter"));
    failures.expect("Module::global: the name is \"\"", module.global<int>(""));
    failures.expect("Module::kernel: the module has no kernel named \"fil\"; C++ names must be "
                    "mangled (cuModuleGetFunction: CUDA_ERROR_NOT_FOUND)",
                    module.kernel("fil"));
    failures.expect("kernel_of: the symbol is null",
                    kernel_of(context, static_cast<Fill *>(nullptr)));
    failures.expect("AnyKernel::of_symbol: the symbol is null",
                    AnyKernel::of_symbol(context, nullptr));
    failures.expect("AnyKernel::of_symbol: 0x8 is not a __global__ function whose code is "
                    "registered with the CUDA runtime that cushim uses; link the program to the "
                    "drop-in or to that libcudart "
                    "(cudaGetFuncBySymbol: cudaErrorInvalidDeviceFunction)",
                    AnyKernel::of_symbol(context, reinterpret_cast<const void *>(8)));
    failures.expect("Module::kernel: the number of parameters is 3 in the kernel, but 1 in the "
                    "signature",
                    module.kernel<void(int *)>("fill"));
    failures.expect("Module::kernel: the size of parameter 1 is 4 bytes in the kernel, but 8 bytes "
                    "in the signature",
                    module.kernel<void(int *, long long, unsigned int)>("fill"));
    failures.expect("Module::global: the module has no variable named \"count\"; C++ names must "
                    "be mangled (cuModuleGetGlobal_v2: CUDA_ERROR_NOT_FOUND)",
                    module.global<int>("count"));
    failures.expect("Module::global: variable \"odd\" has 10 bytes, not a multiple of the element "
                    "size of 4 bytes",
                    module.global<int>("odd"));
    restart("fault=cuModuleGetLoadingMode:1:999");
    failures.expect("Module::loads_lazily: unknown error (cuModuleGetLoadingMode: "
                    "CUDA_ERROR_UNKNOWN)",
                    Module::loads_lazily());
    restart("fault=cuModuleLoadDataEx:1:209");
    failures.expect("Module::load: the image has neither code nor PTX for compute capability 9.0, "
                    "that of device 0 (cuModuleLoadDataEx: CUDA_ERROR_NO_BINARY_FOR_GPU)",
                    Module::load(ok(Context::primary(device)), device_code));
}

void expect_library(Failures &failures) {
    restart("");
    const Context empty, context = ok(Context::primary(device));
    failures.expect("Library::load: the image has size 0", Library::load({"", 0}));
    failures.expect("Library::load: the image is null", Library::load(nullptr));
    failures.expect("Library::load: JitOptions::optimization_level 9 exceeds the limit of 4",
                    Library::load(device_code, {.optimization_level = 9}));
    failures.expect("Library::load_file: /nonexistent/code.ptx cannot be read: No such file or "
                    "directory (CUDA_ERROR_FILE_NOT_FOUND)",
                    Library::load_file("/nonexistent/code.ptx"));
    failures.expect("Library::adopt: the handle is null", Library::adopt(nullptr));
    const Library none, library = ok(Library::load(device_code));
    failures.expect("Library::kernel: the Library is empty", none.kernel("fill"));
    failures.expect("Library::kernel: the library has no kernel named \"fil\"; C++ names must be "
                    "mangled (cuLibraryGetKernel: CUDA_ERROR_NOT_FOUND)",
                    library.kernel("fil"));
    failures.expect("Library::kernel: the number of parameters is 3 in the kernel, but 1 in the "
                    "signature",
                    library.kernel<void(int *)>("fill"));
    failures.expect("Library::kernel_count: the Library is empty", none.kernel_count());
    failures.expect("Library::kernels: the array is null, but its size is 3",
                    library.kernels(nullptr, 3));
    failures.expect("Library::kernel: the name is \"\"", library.kernel(""));
    failures.expect("Library::global: the library has no variable named \"nothing\"; C++ names "
                    "must be mangled (cuLibraryGetGlobal: CUDA_ERROR_NOT_FOUND)",
                    library.global<int>(context, "nothing"));
    failures.expect("Library::global: the Context is empty", library.global<int>(empty, "counter"));
    failures.expect("Library::global: variable \"odd\" has 10 bytes, not a multiple of the "
                    "element size of 4 bytes",
                    library.global<int>(context, "odd"));
    failures.expect("Library::managed: the library has no managed variable named \"nothing\"; C++ "
                    "names must be mangled (cuLibraryGetManaged: CUDA_ERROR_NOT_FOUND)",
                    library.managed<int>(context, "nothing"));
    failures.expect("Library::unified_function: the library has no unified function named "
                    "\"nothing\"; C++ names must be mangled (cuLibraryGetUnifiedFunction: "
                    "CUDA_ERROR_INVALID_VALUE)",
                    library.unified_function("nothing"));
    failures.expect("Library::module: the Context is empty", library.module(empty));
}

void expect_kernel(Failures &failures) {
    restart("devices=2");
    const Context empty, context = ok(Context::primary(device)),
                         peer = ok(Context::primary(Device::from_native(1)));
    const AnyKernel none;
    const Module module = ok(Module::load(context, device_code));
    const AnyKernel kernel = ok(module.kernel("fill"));
    failures.expect("AnyKernel::check_context: the Kernel is empty", none.check_context(context));
    failures.expect("AnyKernel::check_context: the module of the kernel is loaded in context " +
                        text_of(context) + ", but context " + text_of(peer) +
                        " was passed; load it in the latter, too, or use a Library",
                    kernel.check_context(peer), ErrorKind::wrong_context);
    failures.expect("AnyKernel::as: the number of parameters is 3 in the kernel, but 1 in the "
                    "signature",
                    kernel.as<void(int *)>());
    failures.expect("AnyKernel::as: the Kernel is empty", none.as<void()>());
    failures.expect("AnyKernel::function_in: the Kernel is empty", none.function_in(context));
    failures.expect("AnyKernel::name: the Kernel is empty", none.name());
    failures.expect("AnyKernel::parameter_count: the Kernel is empty", none.parameter_count());
    failures.expect(
        "AnyKernel::parameter: parameter 3 does not exist; the kernel has parameters 0 to 2",
        kernel.parameter(3));
    failures.expect(
        "AnyKernel::parameter: parameter 0 does not exist; the kernel has no parameters",
        ok(module.kernel("idle")).parameter(0));
    failures.expect("AnyKernel::attribute: the Context is empty",
                    kernel.attribute(empty, CU_FUNC_ATTRIBUTE_NUM_REGS));
    failures.expect("AnyKernel::attribute: the driver has no CUfunction_attribute 99 "
                    "(cuFuncGetAttribute: CUDA_ERROR_INVALID_VALUE)",
                    kernel.attribute(context, static_cast<CUfunction_attribute>(99)));
    failures.expect("AnyKernel::attributes: the Kernel is empty", none.attributes(context));
    failures.expect(
        "AnyKernel::set_attribute: CU_FUNC_ATTRIBUTE_NUM_REGS (4) is read-only; value 1 was "
        "passed (cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE)",
        kernel.set_attribute(context, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
    failures.expect("AnyKernel::set_max_dynamic_shared_bytes: dynamic shared memory size of "
                    "1099511627776 bytes exceeds the limit of 232448 bytes on device 0",
                    kernel.set_max_dynamic_shared_bytes(context, std::size_t(1) << 40));
    failures.expect("AnyKernel::set_max_dynamic_shared_bytes: dynamic shared memory size of "
                    "1048576 bytes exceeds the limit of 232448 bytes on device 0 "
                    "(cuFuncSetAttribute: CUDA_ERROR_INVALID_VALUE)",
                    kernel.set_max_dynamic_shared_bytes(context, std::size_t(1) << 20));
    failures.expect("AnyKernel::set_shared_memory_carveout: carveout 101 is out of range; pass 0 "
                    "to 100 percent, or -1 for the driver's choice",
                    kernel.set_shared_memory_carveout(context, 101));
    failures.expect("AnyKernel::set_shared_memory_carveout: carveout -2 is out of range; pass 0 "
                    "to 100 percent, or -1 for the driver's choice",
                    kernel.set_shared_memory_carveout(context, -2));
    failures.expect("AnyKernel::function_in: the module of the kernel is loaded in context " +
                        text_of(context) + ", but context " + text_of(peer) +
                        " was passed; load it in the latter, too, or use a Library",
                    kernel.function_in(peer), ErrorKind::wrong_context);
    // occupancy
    failures.expect("max_active_blocks: block size 0 is less than 1 thread",
                    max_active_blocks(context, kernel, 0));
    failures.expect("suggest_block: the limit of threads in a block, -1, is negative; pass 0 for "
                    "the kernel's own limit",
                    suggest_block(context, kernel, 0, -1));
    failures.expect("suggest_block_by: the size callback is null; for a fixed size use "
                    "suggest_block()",
                    suggest_block_by(context, kernel, nullptr));
    failures.expect("available_shared_bytes: number of blocks 0 is less than 1",
                    available_shared_bytes(context, kernel, 0, 32));
    failures.expect("max_cluster_size: grid size 0 x 1 x 1: each dimension must be at least 1; "
                    "skip the launch if there are no elements",
                    max_cluster_size(context, kernel, {.grid = 0}));
    failures.expect(
        "max_active_clusters: cluster size 2 x 0 x 1: each dimension must be at least 1",
        max_active_clusters(context, kernel, {.cluster = {2, 0, 1}}));
    failures.expect("max_active_clusters: block size 4294967296 x 1 x 1 exceeds the limits 1024 x "
                    "1024 x 64",
                    max_active_clusters(context, kernel, {.block = 1ll << 32}));
    // without a context
    restart("");
    const Library library = ok(Library::load(device_code));
    failures.expect("AnyKernel::parameter_count: no context is current on the calling thread, "
                    "and no device has an active primary context; make a context current, or "
                    "retain a primary context with Context::primary()",
                    ok(library.kernel("fill")).parameter_count(), ErrorKind::wrong_context);
}

void expect_launch(Failures &failures) {
    restart("devices=2");
    register_kernels();
    const Context context = ok(Context::primary(device)),
                  peer = ok(Context::primary(Device::from_native(1)));
    const Stream none, stream = ok(Stream::create(context)), far = ok(Stream::create(peer));
    const Module module = ok(Module::load(context, device_code));
    const auto idle = ok(module.kernel<void()>("idle"));
    const auto fill = ok(module.kernel<Fill>("fill"));
    failures.expect("AnyKernel::launch_unchecked: the Kernel is empty",
                    AnyKernel().launch_unchecked(stream, {}, nullptr));
    failures.expect("AnyKernel::launch_unchecked: the Stream is empty",
                    idle.launch_unchecked(none, {}, nullptr));
    failures.expect(
        "AnyKernel::launch_unchecked: block size 2048 x 1 x 1 exceeds the limits 1024 x 1024 x 64 "
        "(cuLaunchKernel: CUDA_ERROR_INVALID_VALUE)",
        idle.launch_unchecked(stream, {.block = 2048}, nullptr));
    failures.expect("Kernel::launch: the Kernel is empty", Kernel<void()>().launch(stream, {}));
    failures.expect("Kernel::launch: the Stream is empty", idle.launch(none, {}));
    failures.expect("Kernel::launch_covering: the Stream is empty", idle.launch_covering(none, 1));
    failures.expect(
        "Kernel::launch: kernel argument 0 is a buffer without memory: closed, released, "
        "moved from, or default-constructed",
        fill.launch(stream, {}, DeviceBuffer<int>(), 1, 1u));
    failures.expect("Kernel::launch: the kernel's module belongs to context " + text_of(context) +
                        ", the stream to context " + text_of(peer) + "; use a stream of context " +
                        number_of(context) + " (cuLaunchKernel: CUDA_ERROR_INVALID_HANDLE)",
                    idle.launch(far, {}));
    failures.expect("Kernel::launch: grid size 0 x 1 x 1: each dimension must be at least 1; skip "
                    "the launch if there are no elements",
                    idle.launch(stream, LaunchConfig::covering(0)));
    failures.expect("Kernel::launch: grid size 1 x -2 x 1: each dimension must be at least 1",
                    idle.launch(stream, {.grid = {1, -2, 1}, .priority = 0}));
    failures.expect("Kernel::launch: block size 1 x 1 x 4294967296 exceeds the limits 1024 x 1024 "
                    "x 64",
                    idle.launch(stream, {.block = {1, 1, 1ll << 32}}));
    failures.expect("Kernel::launch: grid size 4294967296 x 1 x 1 exceeds the limits 2147483647 x "
                    "65535 x 65535",
                    idle.launch(stream, {.grid = 1ll << 32, .priority = 0}));
    failures.expect(
        "Kernel::launch: dynamic shared memory size of 1099511627776 bytes exceeds the kernel's "
        "limit of 49152 bytes; raise it with AnyKernel::set_max_dynamic_shared_bytes()",
        idle.launch(stream, {.shared_bytes = std::size_t(1) << 40}));
    failures.expect("Kernel::launch: cluster size 2 x 0 x 1: each dimension must be at least 1",
                    idle.launch(stream, {.cluster = {2, 0, 1}}));
    failures.expect("Kernel::launch: grid size 1 x 70000 x 1 exceeds the limits 2147483647 x "
                    "65535 x 65535 (cuLaunchKernel: CUDA_ERROR_INVALID_VALUE)",
                    idle.launch(stream, {.grid = {1, 70000, 1}}));
    failures.expect("Kernel::launch: block size 2048 x 1 x 1 exceeds the limits 1024 x 1024 x 64 "
                    "(cuLaunchKernel: CUDA_ERROR_INVALID_VALUE)",
                    idle.launch(stream, {.block = 2048}));
    failures.expect("Kernel::launch: block size 64 x 32 x 1 (2048 threads) exceeds the kernel's "
                    "limit of 1024 threads (cuLaunchKernel: CUDA_ERROR_INVALID_VALUE)",
                    idle.launch(stream, {.block = {64, 32, 1}}));
    failures.expect(
        "Kernel::launch: dynamic shared memory size of 100000 bytes exceeds the kernel's limit of "
        "49152 bytes; raise it with AnyKernel::set_max_dynamic_shared_bytes() (cuLaunchKernel: "
        "CUDA_ERROR_INVALID_VALUE)",
        idle.launch(stream, {.shared_bytes = 100000}));
    failures.expect("Kernel::launch: cooperative grid size 1048576 x 1 x 1 exceeds the limit of "
                    "4224 blocks that run at the same time (cuLaunchCooperativeKernel: "
                    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)",
                    idle.launch(stream, {.grid = 1 << 20, .cooperative = true}));
    const Module clusters = ok(Module::load(context, cluster_code));
    const auto in_clusters = ok(clusters.kernel<void()>("idle"));
    failures.expect("Kernel::launch: cluster size 2 x 1 x 1 does not divide the grid size 3 x 1 x "
                    "1 (cuLaunchKernelEx: CUDA_ERROR_INVALID_CLUSTER_SIZE)",
                    in_clusters.launch(stream, {.grid = 3, .cluster = 2}));
    failures.expect("Kernel::launch: cluster size 32 x 1 x 1 exceeds the kernel's limit of 8 "
                    "blocks; some devices allow more after AnyKernel::set_attribute() of "
                    "CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED (cuLaunchKernelEx: "
                    "CUDA_ERROR_INVALID_CLUSTER_SIZE)",
                    in_clusters.launch(stream, {.grid = 64, .cluster = 32}));
    const CUlaunchAttribute attributes[33] = {};
    failures.expect("Kernel::launch: the number of launch attributes in LaunchConfig::more, 33, "
                    "exceeds the limit of 32",
                    idle.launch(stream, {.more = {attributes, 33}}));
    failures.expect(
        "Kernel::launch: LaunchConfig::more is null, but its size is 2",
        idle.launch(stream, {.more = {static_cast<const CUlaunchAttribute *>(nullptr), 2}}));
}

} // namespace

void api_test::expect_kernel_failures(Failures &failures) {
    expect_code(failures);
    expect_library(failures);
    expect_kernel(failures);
    expect_launch(failures);
    restart("");
}
