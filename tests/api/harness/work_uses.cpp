// Uses of streams, events, closures and code.
#include "device_code.hpp"
#include "uses.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/library.hpp>

#include <atomic>
#include <memory>

namespace api_test {
namespace {

using namespace cushim;

constexpr unsigned int count = 2000;

Result<void> use_streams_and_events(const Workplace &place) {
    CUSHIM_TRY(const Stream first, Stream::create(place.context));
    CUSHIM_TRY(const Stream second, Stream::create(place.context, {.non_blocking = true}));
    CUSHIM_TRY_VOID(must_be_in(place, second));
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY(const Event begin, Event::create(place.context));
    CUSHIM_TRY(const Event written, Event::create(place.context));
    CUSHIM_TRY_VOID(begin.record(first));
    CUSHIM_TRY_VOID(fill(first, memory.span(), 1));
    CUSHIM_TRY_VOID(written.record(first));
    CUSHIM_TRY_VOID(second.wait_event(written));
    CUSHIM_TRY_VOID(fill(second, memory.span(), 2));
    CUSHIM_TRY_VOID(second.synchronize());
    CUSHIM_TRY(const auto passed, written.elapsed_since(begin));
    CUSHIM_TRY_VOID(must(passed >= 0, "time went backwards"));
    return must_be_filled(place.context, memory.span(), 2);
}

// The closure owns CUDA objects, which are destroyed with it.
Result<void> use_closures(const Workplace &place) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    const auto called = std::make_shared<std::atomic<int>>(0);
    CUSHIM_TRY_VOID(fill(place.stream, memory.span(), 1));
    CUSHIM_TRY_VOID(
        place.stream.launch_host_function([kept = std::move(memory), called] { ++*called; }));
    CUSHIM_TRY_VOID(place.stream.synchronize());
    wait_for_released_closures();
    return must(*called == 1, "the closure was not called once");
}

template <class Kernel>
Result<void> launch_fill(const Workplace &place, const Kernel &kernel, int value) {
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(place.context, count));
    CUSHIM_TRY_VOID(
        kernel.launch(place.stream, LaunchConfig::covering(count), memory, value, count));
    CUSHIM_TRY_VOID(place.stream.synchronize());
    return must_be_filled(place.context, memory.span(), value);
}

Result<void> use_modules(const Workplace &place) {
    CUSHIM_TRY(const Module module, Module::load(place.context, device_code));
    CUSHIM_TRY(const auto kernel, module.kernel<Fill>("fill"));
    CUSHIM_TRY(const auto attributes, kernel.attributes(place.context));
    CUSHIM_TRY_VOID(must(attributes.max_threads_per_block >= 32,
                         "a block of the kernel has less than 32 threads"));
    CUSHIM_TRY(const auto variable, module.global<int>("counter"));
    CUSHIM_TRY_VOID(must_be_on(place, variable.native()));
    CUSHIM_TRY_VOID(must_be_filled(place.context, variable, 42));
    return launch_fill(place, kernel, 11);
}

Result<void> use_libraries(const Workplace &place) {
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const auto kernel, library.kernel<Fill>("fill"));
    CUSHIM_TRY(const auto variable, library.global<int>(place.context, "counter"));
    CUSHIM_TRY_VOID(must_be_on(place, variable.native()));
    CUSHIM_TRY_VOID(must_be_filled(place.context, variable, 42));
    return launch_fill(place, kernel, 12);
}

Result<void> use_broken_code(const Workplace &place) {
    JitLog log;
    const auto broken = Module::load(place.context, "no code at all", {}, &log);
    CUSHIM_TRY_VOID(must(!broken, "invalid code was loaded"));
    CUSHIM_TRY(const Module module, Module::load(place.context, device_code));
    return must(!module.kernel("no_such_kernel"), "an unknown kernel was found");
}

constexpr Use uses[] = {
    {"streams and events", use_streams_and_events},
    {"closures in a stream", use_closures},
    {"modules", use_modules},
    {"libraries", use_libraries},
    {"code that is refused", use_broken_code},
};

} // namespace

std::span<const Use> work_uses() {
    return uses;
}

} // namespace api_test
