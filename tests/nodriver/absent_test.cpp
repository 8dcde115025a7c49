// Without a driver, every wrapper function that needs one fails with library_not_found and a hint.
// factories_test.py checks that this file calls every factory.
#include <catch2/catch_test_macros.hpp>
#include <cushim/cushim.hpp>
#include <cushim/runtime_graph.hpp>

#include <array>
#include <string>
#include <vector>

#ifndef _WIN32
#include <fcntl.h>
#include <sys/socket.h>
#endif

using namespace cushim;

namespace {

template <class T>
void check(const Result<T> &result, int status, const cushim_report &report, int line) {
    INFO("line " << line);
    CHECK_FALSE(result.has_value());
    if (result.has_value()) {
        return;
    }
    const std::string message = result.error().message();
    INFO(message);
    CHECK(result.error().kind() == ErrorKind::library_not_found);
    CHECK(result.error().status() == status);
    CHECK(std::string(report.hint) != "");
    CHECK(message.find(report.hint) != std::string::npos);
}

template <class T>
void check_absent(const Result<T> &result, int line = __builtin_LINE()) {
    check(result, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, load_report().driver, line);
}

// For functions of the runtime API, which also need the driver.
template <class T>
void check_runtime_absent(const Result<T> &result, int line = __builtin_LINE()) {
    check(result, cudaErrorInsufficientDriver, load_report().runtime, line);
}

// Adopting a handle calls nothing; destroying it does.
template <class T>
void check_adopted(Result<T> result, int line = __builtin_LINE()) {
    INFO("line " << line);
    REQUIRE(result.has_value());
    check_absent(result->close(), line);
}

template <class T>
void check_refused(const Result<T> &result, ErrorKind kind, int line = __builtin_LINE()) {
    INFO("line " << line);
    CHECK(!result.has_value());
    CHECK((!result.has_value() && result.error().kind() == kind));
}

template <class T>
void check_win32(const Result<T> &result, int line = __builtin_LINE()) {
#ifdef _WIN32
    check_absent(result, line);
#else
    check_refused(result, ErrorKind::unsupported_platform, line);
#endif
}

// Stand-ins for a context and a stream, which cannot exist without a driver.
const Context context = Context::borrow(reinterpret_cast<CUcontext>(1));
const Stream stream = Stream::legacy();

} // namespace

TEST_CASE("functions for devices and contexts fail without a driver", "[absent]") {
    check_absent(Device::count());
    check_absent(Device::get(0));
    check_absent(Device::all());
    check_absent(Device::by_uuid({}));
    check_absent(Device::by_pci_bus_id("0000:00:00.0"));
    check_absent(Context::primary(Device::from_native(0)));
    check_absent(Context::create(Device::from_native(0)));
    check_absent(Context::current());
    check_adopted(Context::adopt(reinterpret_cast<CUcontext>(1)));
    check_absent(Context::reset_primary(Device::from_native(0)));
    check_absent(ContextScope::enter(reinterpret_cast<CUcontext>(1)));
    check_absent(context.enter());
}

TEST_CASE("loading fails without a driver", "[absent]") {
    check_absent(load_driver());
    check_absent(load(CUSHIM_LIBRARY_DRIVER));
    check_runtime_absent(load_runtime());
    check_absent(try_driver());
    check_runtime_absent(try_runtime());
    CHECK(load_driver().error().function() == std::string("load_driver"));
    CHECK(load_runtime().error().function() == std::string("load_runtime"));
    CHECK(try_driver().error().function() == std::string("try_driver"));
    CHECK(try_runtime().error().function() == std::string("try_runtime"));
    check_absent(init());
    check_refused(configure({}), ErrorKind::invalid_argument); // too late
}

TEST_CASE("functions for streams and events fail without a driver", "[absent]") {
    check_absent(Stream::create(context));
    check_absent(stream.synchronize());
    check_absent(stream.record_event());
    check_absent(stream.wait(stream));
    check_adopted(Stream::adopt(context, reinterpret_cast<CUstream>(16)));
    check_absent(Event::create(context));
    check_absent(Event::interprocess(context));
    check_adopted(Event::adopt(context, reinterpret_cast<CUevent>(1)));
    int ran = 0;
    check_absent(stream.launch_host_function([&ran] { ++ran; }));
    CHECK(ran == 0);
}

TEST_CASE("functions for memory fail without a driver", "[absent]") {
    check_absent(DeviceBuffer<int>::allocate(context, 1));
    check_absent(DeviceBuffer<int>::allocate_async(stream, 1));
    check_adopted(DeviceBuffer<int>::adopt(context, 16, 1));
    int values[1] = {};
    check_absent(DeviceBuffer<int>::allocate_zeroed(context, 8));
    check_absent(DeviceBuffer<int>::allocate_zeroed_async(stream, 8));
    check_absent(DeviceBuffer<int>::copy_of(context, values));
    const DeviceSpan<int> span(16, 1);
    check_absent(copy(stream, span, std::span<const int>(values)));
    check_absent(copy(stream, std::span(values), span));
    check_absent(copy(context, span, DeviceSpan<const int>(32, 1)));
    std::vector<int> range(1);
    check_absent(copy(context, range, span));
    check_absent(fill(context, span, 0));
    DeviceBuffer<int> empty;
    // These do not call the driver.
    CHECK(fill(context, empty, 0).has_value());
    CHECK(cushim::fill(empty, 0).has_value());
    CHECK(cushim::copy(empty, std::vector<int>()).has_value());
    CHECK(empty.to_vector().value().empty());
    CHECK_FALSE(cushim::copy(empty, range).has_value());
}

TEST_CASE("functions for memory and events of other processes fail without a driver",
          "[absent][P7][P8]") {
    check_absent(IpcExport::of(context, DeviceSpan<int>(16, 1)));
    check_absent(export_event(context, Event::borrow(reinterpret_cast<CUevent>(1))));
    check_absent(open_event(context, IpcEventHandle()));
    CHECK(IpcExport::from_handle({}, 16).has_value());
    std::byte bytes[IpcExport::byte_count] = {};
    CHECK_FALSE(IpcMemory::open(context, IpcExport()).has_value());
    bytes[72] = std::byte{16};
    check_absent(IpcExport::from_bytes(bytes).and_then(
        [](const IpcExport &exported) { return IpcMemory::open(context, exported); }));
}

TEST_CASE("functions for pools fail without a driver", "[absent]") {
    check_absent(MemoryPool::create(Device::from_native(0)));
    check_absent(MemoryPool::default_of(Device::from_native(0)));
    check_absent(MemoryPool::current_of(Device::from_native(0)));
    check_absent(MemoryPool::import_fabric({}));
    check_absent(MemoryPool::import_win32(nullptr));
    check_adopted(MemoryPool::adopt(reinterpret_cast<CUmemoryPool>(1)));
    check_absent(MemoryPool::export_pointer(16));
#ifndef _WIN32
    check_absent(MemoryPool::import_fd(0));
#endif
    const auto pool = MemoryPool::borrow(reinterpret_cast<CUmemoryPool>(1));
    check_absent(pool.usage());
    check_absent(pool.trim_to(0));
    check_absent(pool.export_fabric());
    check_absent(PoolBuffer<int>::allocate(pool, stream, 1));
    check_absent(PoolBuffer<int>::import_from(pool, stream, {}, 1));
}

TEST_CASE("functions for host memory fail without a driver", "[absent]") {
    int values[1] = {};
    check_absent(PinnedBuffer<int>::allocate(context, 1));
    check_absent(PinnedBuffer<int>::copy_of(context, values));
    check_adopted(PinnedBuffer<int>::adopt(context, values, 1));
    check_absent(HostMappedBuffer<int>::allocate(context, 1));
    check_absent(HostMappedBuffer<int>::adopt(context, values, 1));
    check_absent(HostRegistration<int>::create(context, values));
    check_absent(HostRegistration<const int>::create(context, values, {.read_only = true}));
    CHECK(HostMappedBuffer<int>::allocate(context, 0).has_value());
}

TEST_CASE("functions for managed and pitched memory fail without a driver", "[absent]") {
    check_absent(ManagedBuffer<int>::allocate(context, 1));
    check_adopted(ManagedBuffer<int>::adopt(context, 16, 1));
    check_absent(PitchedBuffer<int>::allocate(context, {1}));
    const DevicePitchedSpan<int> image(16, {1}, {4, 1});
    int value = 0;
    const HostPitchedSpan<int> pixels(&value, {1}, {4, 1});
    check_absent(copy(context, image, pixels));
    check_absent(copy(stream, pixels, image));
    check_absent(copy(context, image, DevicePitchedSpan<const int>(64, {1}, {4, 1})));
    check_absent(fill(stream, image, 1));
    // Views need no driver.
    CHECK(DevicePitchedSpan<int>::of(DeviceSpan<int>(16, 1), {1}).has_value());
    CHECK(HostPitchedSpan<int>::of(std::span(&value, 1), {1}).has_value());
}

TEST_CASE("functions for virtual memory fail without a driver", "[absent]") {
    const Device device = Device::from_native(0);
    check_absent(Granularity::of(device));
    check_absent(AddressRange::reserve(device, 1 << 21));
    check_adopted(AddressRange::adopt(1 << 21, 1 << 21));
    check_absent(PhysicalMemory::create(device, 1 << 21));
    check_absent(PhysicalMemory::create(device, 1 << 21,
                                        {.host_numa_node = 0, .exportable = {.fabric = true}}));
    check_absent(PhysicalMemory::fabric_works(device));
    check_adopted(PhysicalMemory::adopt(1, 1 << 21));
    check_absent(PhysicalMemory::retain_from(1 << 21));
    check_absent(PhysicalMemory::retain_from(1 << 21, 1 << 21));
    check_absent(PhysicalMemory::import_fd(0, 1 << 21));
    check_absent(PhysicalMemory::import_win32(nullptr, 1 << 21));
    check_absent(PhysicalMemory::import_fabric({}, 1 << 21));
    check_absent(GrowableBuffer<int>::create(device, 100));
    check_absent(GrowableBuffer<int>::create(device, 0));
    const auto range = AddressRange::borrow(1 << 21, 1 << 21);
    const auto memory = PhysicalMemory::borrow(1, 1 << 21);
    check_absent(MappedRange::map(range, 0, memory));
    check_absent(MappedRange::map(range, 0, memory, {device, AccessFlags::read}));
    const AccessGrant grants[] = {{device, AccessFlags::read}};
    check_absent(MappedRange::map(range, 0, memory, std::span(grants)));
    check_adopted(MappedRange::adopt(range, 0, memory));
    check_absent(range.set_access(0, 1 << 21, {device, AccessFlags::read}));
    check_absent(range.get_access(0, device));
    check_absent(memory.properties());
}

TEST_CASE("functions for memory and semaphores of other APIs fail without a driver", "[absent]") {
    int object = 0;
    check_absent(ExternalMemory::import_from(context, ExternalMemorySource::nvscibuf(&object), 1));
    const auto memory = ExternalMemory::borrow(context, reinterpret_cast<CUexternalMemory>(1), 1);
    check_absent(memory.map_buffer(0, 1));
    check_adopted(ExternalMemory::adopt(context, reinterpret_cast<CUexternalMemory>(1), 1));
    const auto native = reinterpret_cast<CUexternalSemaphore>(1);
    check_adopted(BinarySemaphore::adopt(context, native));
    check_adopted(TimelineSemaphore::adopt(context, native));
    check_adopted(KeyedMutex::adopt(context, native));
    check_adopted(NvSciSemaphore::adopt(context, native));
    check_absent(NvSciSemaphore::import_from(context, &object));
    const auto semaphore =
        TimelineSemaphore::borrow(context, reinterpret_cast<CUexternalSemaphore>(1));
    check_absent(semaphore.signal(stream, 1));
    check_absent(semaphore.wait(stream, 1));
    check_absent(signal_semaphores(stream, {semaphore.signaling(1)}));
    check_absent(wait_semaphores(stream, {semaphore.waiting(1)}));
    const std::array signals{semaphore.signaling(1)};
    const std::array waits{semaphore.waiting(1)};
    check_absent(signal_semaphores(stream, std::span<const SemaphoreSignal>(signals)));
    check_absent(wait_semaphores(stream, std::span<const SemaphoreWait>(waits)));
    const auto handle = Win32Handle::handle(&object);
    check_win32(BinarySemaphore::import_win32(context, handle));
    check_win32(BinarySemaphore::import_win32_kmt(context, &object));
    check_win32(TimelineSemaphore::import_win32(context, handle));
    check_win32(TimelineSemaphore::import_d3d12_fence(context, handle));
    check_win32(TimelineSemaphore::import_d3d11_fence(context, handle));
    check_win32(KeyedMutex::import_d3d11(context, handle));
    check_win32(KeyedMutex::import_d3d11_kmt(context, &object));
#ifdef _WIN32
    check_absent(
        ExternalMemory::import_from(context, ExternalMemorySource::opaque_win32(handle), 1));
#else
    // After a failed import the caller still owns the descriptor.
    auto source = ExternalMemorySource::dma_buf(UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC)));
    check_absent(ExternalMemory::import_from(context, std::move(source), 1));
    UniqueFd fd = source.take_fd();
    CHECK(fd);
    check_absent(BinarySemaphore::import_fd(context, std::move(fd)));
    check_absent(TimelineSemaphore::import_fd(context, std::move(fd)));
    CHECK(fd);
#endif
}

TEST_CASE("descriptors can be sent without a driver", "[absent]") {
#ifdef _WIN32
    check_refused(send_fd(0, 0), ErrorKind::unsupported_platform);
    check_refused(receive_fd(0), ErrorKind::unsupported_platform);
#else
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    const UniqueFd from(ends[0]), to(ends[1]);
    CHECK(send_fd(from.get(), to.get()).has_value());
    CHECK(receive_fd(to.get()).has_value());
#endif
}

TEST_CASE("functions for code fail without a driver", "[absent]") {
    check_absent(Module::load(context, ".version 7.0"));
    check_absent(Module::load_file(context, __FILE__));
    check_adopted(Module::adopt(context, reinterpret_cast<CUmodule>(1)));
    check_absent(Module::loads_lazily());
    const auto module = Module::borrow(reinterpret_cast<CUmodule>(1));
    check_absent(module.kernel("add"));
    check_absent(module.global<int>("counter"));
    const auto function = AnyKernel::borrow(reinterpret_cast<CUfunction>(1));
    check_absent(kernel_of(context, +[](int) {}));
    check_absent(AnyKernel::of_symbol(context, __FILE__));
    check_absent(function.attributes(context));
    check_absent(function.function_in(context));
    check_absent(function.launch_unchecked(stream, {}, nullptr));
    check_absent(function.launch_unchecked(stream, {.cooperative = true}, nullptr));
    check_absent(max_active_blocks(context, function, 32));
    check_absent(suggest_block(context, function));
    check_absent(suggest_block_by(context, function, [](int) -> std::size_t { return 0; }));
    check_absent(available_shared_bytes(context, function, 1, 32));
}

#if CUDA_VERSION >= 12040
TEST_CASE("functions of newer headers for code fail without a driver", "[absent]") {
    check_absent(Library::load(".version 7.0"));
    check_absent(Library::load_file(__FILE__));
    check_adopted(Library::adopt(reinterpret_cast<CUlibrary>(1)));
    const auto library = Library::borrow(reinterpret_cast<CUlibrary>(1));
    check_absent(library.kernel("add"));
    check_absent(library.kernel_count());
    check_absent(library.global<int>(context, "counter"));
    check_absent(library.managed<int>(context, "counter"));
    check_absent(library.unified_function("add"));
    check_absent(library.module(context));
    const auto function = AnyKernel::borrow(reinterpret_cast<CUfunction>(1));
    check_absent(function.name());
    check_absent(function.parameter(0));
    check_absent(function.parameter_count());
    check_absent(function.launch_unchecked(stream, {.priority = 0}, nullptr));
    check_absent(max_cluster_size(context, function, {}));
    check_absent(max_active_clusters(context, function, {}));
}
#endif

TEST_CASE("functions for graphs fail without a driver", "[absent]") {
    check_absent(Graph::create(context));
    check_adopted(Graph::adopt(context, reinterpret_cast<CUgraph>(1)));
    check_adopted(GraphExec::adopt(context, reinterpret_cast<CUgraphExec>(1)));
    auto graph = Graph::borrow(context, reinterpret_cast<CUgraph>(1));
    REQUIRE(graph.has_value());
    check_absent(graph->add_empty_node({}));
    check_absent(graph->nodes());
    check_absent(graph->clone());
    check_absent(graph->instantiate());
    check_absent(graph->debug_dot("graph.dot"));
    check_absent(graph->create_condition({}));
    check_absent(stream.begin_capture());
    check_absent(stream.end_capture());
    check_absent(stream.capture_status());
    check_absent(stream.capture([] {}));
    auto exec = GraphExec::borrow(context, reinterpret_cast<CUgraphExec>(1));
    REQUIRE(exec.has_value());
    check_absent(exec->launch(stream));
    check_absent(exec->update(*graph));
    check_absent(graph_memory_usage(Device::from_native(0)));
    check_absent(reset_graph_memory_high_marks(Device::from_native(0)));
    check_absent(trim_graph_memory(Device::from_native(0)));
}

TEST_CASE("runtime API functions for graphs fail without a driver", "[absent]") {
    check_absent(rt::create_graph(context));
    check_adopted(rt::adopt_graph(context, reinterpret_cast<CUgraph>(1)));
    CHECK(rt::borrow_graph(context, reinterpret_cast<CUgraph>(1)).has_value());
    check_adopted(rt::adopt_exec(context, reinterpret_cast<CUgraphExec>(1)));
    CHECK(rt::borrow_exec(context, reinterpret_cast<CUgraphExec>(1)).has_value());
    check_absent(rt::begin_capture(stream));
    check_absent(rt::end_capture(stream));
    check_absent(rt::capture(stream, [] {}));
    check_absent(rt::capture(stream, CaptureMode::relaxed, [] {}));
}
