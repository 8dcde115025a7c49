// The two APIs of graphs. Their handles are the same types, and most functions and structs differ
// in the name only. `Both` names such a pair, and one text serves both APIs:
//
//     call_of<Both<entry::cuGraphClone, entry::cudaGraphClone>>(state.api, &clone, graph)
//
// Driver functions have the signatures of the oldest ABI that suffices, runtime functions those of
// the headers' major version.
#pragma once

#include <cushim/detail/driver_entries.hpp>
#include <cushim/detail/runtime_entries.hpp>
#include <cushim/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/call.hpp"
#include "base/missing_entries.hpp"
#include "context/in_context.hpp"

namespace cushim::detail {

template <class Driver, class Runtime>
struct Both {
    template <Api api>
    using in = std::conditional_t<api == Api::runtime, Runtime, Driver>;
};
template <class Pair, Api api>
using In = typename Pair::template in<api>;

// An API as a constant, in an argument.
template <Api api>
using Constant = std::integral_constant<Api, api>;
// The result of f(api), where the API is such a constant.
template <class F>
auto by_api(Api api, const F &f) noexcept(noexcept(f(Constant<Api::driver>()))) {
    return api == Api::runtime ? f(Constant<Api::runtime>()) : f(Constant<Api::driver>());
}

// Calls the function of this API.
template <class Pair, class... Arguments>
Result<void> call_of(Api api, Arguments... arguments) noexcept {
    return by_api(api, [&](auto of) noexcept { return call<In<Pair, of>>(arguments...); });
}

// The result of call(), in the context if CUDA needs it to be current. The runtime always does: it
// would initialize the primary context if none is.
template <class Call>
Result<void> with_context(Api api, CUcontext context, bool driver_needs_it,
                          const Call &call) noexcept {
    return call_in(context, call, api == Api::runtime || driver_needs_it);
}

// A call of these fails with error(), like one of a function that the headers lack.
struct NoKernels {
    static Error error() noexcept {
        return Error::unsupported_platform("the runtime API before CUDA 12 does not support nodes "
                                           "with loaded kernels; use a graph of the driver API");
    }
};

// --- addresses in device memory

using Pointer = Both<CUdeviceptr, void *>;

template <Api api>
In<Pointer, api> native_pointer(unsigned long long address) noexcept {
    if constexpr (api == Api::driver) {
        return address;
    } else {
        return reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
    }
}
inline unsigned long long address_of(CUdeviceptr address) noexcept {
    return address;
}
inline unsigned long long address_of(const void *pointer) noexcept {
    return reinterpret_cast<unsigned long long>(pointer);
}

} // namespace cushim::detail
