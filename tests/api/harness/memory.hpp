// What tests of memory have in common.
#pragma once

#include "scenario.hpp"

#include <string_view>
#include <vector>

namespace api_test {

// The calls of the driver that `function` makes, by exported name; none where there is no
// simulator.
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

// The same, but for those that only prepare others: the capture mode and the current context are
// changed and restored around what destructors call.
template <class Function>
std::vector<std::string> destroying_calls_in(const Function &function) {
    auto names = calls_in(function);
    std::erase_if(names, [](const std::string &name) {
        return name == "cuThreadExchangeStreamCaptureMode" || name.starts_with("cuCtxGetCurrent") ||
               name.starts_with("cuCtxPushCurrent") || name.starts_with("cuCtxPopCurrent");
    });
    return names;
}

inline CUcontext current_context() {
    CUcontext context = nullptr;
    REQUIRE(cushim::driver().cuCtxGetCurrent(&context) == CUDA_SUCCESS);
    return context;
}

// 0, 1, 2, ...
inline std::vector<int> numbers(std::size_t count) {
    std::vector<int> all(count);
    for (std::size_t index = 0; index < count; ++index) {
        all[index] = static_cast<int>(index);
    }
    return all;
}

} // namespace api_test
