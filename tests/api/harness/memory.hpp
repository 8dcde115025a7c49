// Helpers for tests of memory.
#pragma once

#include "../../support/failing_allocation.hpp"
#include "scenario.hpp"

#include <vector>

namespace api_test {

// The exported names of the driver calls that `function` makes; empty without the simulator.
template <class Function>
std::vector<std::string> calls_in(const Function &function) {
    if (simulator() == nullptr) {
        function();
        return {};
    }
    simulator()->clear_calls();
    simulator()->log_calls(1);
    function();
    simulator()->log_calls(0);
    std::vector<std::string> names;
    cushim_sim_call call;
    for (std::size_t index = 0; simulator()->call_at(index, &call) != 0; ++index) {
        names.emplace_back(call.name);
    }
    return names;
}

// The same without the calls that change and restore the capture mode and the current context.
template <class Function>
std::vector<std::string> destroying_calls_in(const Function &function) {
    auto names = calls_in(function);
    std::erase_if(names, [](const std::string &name) {
        return name == "cuThreadExchangeStreamCaptureMode" || name.starts_with("cuCtxGetCurrent") ||
               name.starts_with("cuCtxPushCurrent") || name.starts_with("cuCtxPopCurrent");
    });
    return names;
}

// The function must make no driver calls.
template <class Function>
void check_no_calls(const Function &function) {
    CHECK(calls_in(function) == std::vector<std::string>());
}

inline bool is_primary_active(cushim::Device device = cushim::Device::from_native(0)) {
    unsigned int flags = 0;
    int active = -1;
    REQUIRE(cushim::driver().cuDevicePrimaryCtxGetState(device.native(), &flags, &active) ==
            CUDA_SUCCESS);
    return active != 0;
}

// Device 0. The scenario is skipped if host and device cannot use managed memory at the same time.
struct ConcurrentDevice : cushim::Device {};
template <>
struct Fixture<ConcurrentDevice> {
    static cushim::Result<ConcurrentDevice> make(Trial &trial, cushim::Api, const auto &...before) {
        CUSHIM_TRY(const cushim::Context context, context_among(before...));
        CUSHIM_TRY(const cushim::Device device, context.device());
        CUSHIM_TRY(const int concurrent,
                   device.attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS));
        if (concurrent == 0) {
            trial.skip("host and device cannot use managed memory at the same time");
        }
        return ConcurrentDevice{device};
    }
};

inline CUcontext current_context() {
    CUcontext context = nullptr;
    REQUIRE(cushim::driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    return context;
}

#ifdef API_TEST_ALLOCATIONS_FAIL
// Calls prepare() and function(), which returns a Result, with the first allocation failing, then
// with the second, until it succeeds. Calls check() after each failure of the library and returns
// the number of them; failures of the simulated driver do not count.
template <class Prepare, class Function, class Check>
int refusals_without_memory(const Prepare &prepare, const Function &function, const Check &check) {
    int refusals = 0;
    for (long nth = 1;; ++nth) {
        INFO("allocation " << nth);
        REQUIRE(nth < 1000);
        prepare();
        const auto done = [&] {
            const support::FailingAllocation failing(nth);
            return function();
        }();
        if (done) {
            return refusals;
        }
        INFO(done.error().message());
        REQUIRE(done.error().kind() == cushim::ErrorKind::out_of_memory);
        if (done.error().status() == 0) {
            ++refusals;
            check();
        }
    }
}
#endif

// The numbers 0, 1, 2, ...
inline std::vector<int> numbers(std::size_t count) {
    std::vector<int> all(count);
    for (std::size_t index = 0; index < count; ++index) {
        all[index] = static_cast<int>(index);
    }
    return all;
}

} // namespace api_test
