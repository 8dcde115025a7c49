// Entry points that the CUDA headers of this build may lack. A call of one that they lack fails
// with requires_newer_headers.
#pragma once

#include <cstddef>

#include <cushim/entry.hpp>
#include <cushim/result.hpp>

#include "call.hpp"

namespace cushim::detail {

template <std::size_t size>
struct EntryName {
    consteval EntryName(const char (&of)[size]) {
        for (std::size_t index = 0; index < size; ++index) {
            text[index] = of[index];
        }
    }
    char text[size] = {};
};
// CUDA added it in this version.
template <EntryName name, int version>
struct InNewerHeaders {
    static Error error() noexcept {
        return Error::requires_newer_headers(name.text, Version(version));
    }
};

// Whether calls of this entry point reach a function.
template <class Entry>
bool is_callable() noexcept {
    if constexpr (Lacking<Entry>) {
        return false;
    } else {
        return is_available<Entry>();
    }
}

// Fails if the headers lack this entry point.
template <class Entry>
Result<void> require_headers() noexcept {
    if constexpr (Lacking<Entry>) {
        return Entry::error();
    } else {
        return {};
    }
}

} // namespace cushim::detail

namespace cushim::entry {

#if CUDA_VERSION < 11060
using cuGraphNodeGetEnabled = detail::InNewerHeaders<"cuGraphNodeGetEnabled", 11060>;
using cuGraphNodeSetEnabled = detail::InNewerHeaders<"cuGraphNodeSetEnabled", 11060>;
using cudaGraphNodeGetEnabled = detail::InNewerHeaders<"cudaGraphNodeGetEnabled", 11060>;
using cudaGraphNodeSetEnabled = detail::InNewerHeaders<"cudaGraphNodeSetEnabled", 11060>;
#endif
#if CUDA_VERSION < 11070
using cuGraphAddBatchMemOpNode = detail::InNewerHeaders<"cuGraphAddBatchMemOpNode", 11070>;
using cuGraphBatchMemOpNodeGetParams =
    detail::InNewerHeaders<"cuGraphBatchMemOpNodeGetParams", 11070>;
using cuGraphBatchMemOpNodeSetParams =
    detail::InNewerHeaders<"cuGraphBatchMemOpNodeSetParams", 11070>;
using cuGraphExecBatchMemOpNodeSetParams =
    detail::InNewerHeaders<"cuGraphExecBatchMemOpNodeSetParams", 11070>;
#endif
#if CUDA_VERSION < 12000
using cuGraphExecGetFlags = detail::InNewerHeaders<"cuGraphExecGetFlags", 12000>;
using cudaGraphExecGetFlags = detail::InNewerHeaders<"cudaGraphExecGetFlags", 12000>;
using cuKernelGetAttribute = detail::InNewerHeaders<"cuKernelGetAttribute", 12000>;
using cuKernelGetFunction = detail::InNewerHeaders<"cuKernelGetFunction", 12000>;
using cuKernelSetAttribute = detail::InNewerHeaders<"cuKernelSetAttribute", 12000>;
using cuLibraryGetGlobal = detail::InNewerHeaders<"cuLibraryGetGlobal", 12000>;
using cuLibraryGetKernel = detail::InNewerHeaders<"cuLibraryGetKernel", 12000>;
using cuLibraryGetManaged = detail::InNewerHeaders<"cuLibraryGetManaged", 12000>;
using cuLibraryGetModule = detail::InNewerHeaders<"cuLibraryGetModule", 12000>;
using cuLibraryGetUnifiedFunction = detail::InNewerHeaders<"cuLibraryGetUnifiedFunction", 12000>;
using cuLibraryLoadData = detail::InNewerHeaders<"cuLibraryLoadData", 12000>;
using cuLibraryUnload = detail::InNewerHeaders<"cuLibraryUnload", 12000>;
using cuStreamGetId = detail::InNewerHeaders<"cuStreamGetId", 12000>;
#endif
#if CUDA_VERSION < 12030
using cuGraphConditionalHandleCreate =
    detail::InNewerHeaders<"cuGraphConditionalHandleCreate", 12030>;
using cuStreamBeginCaptureToGraph = detail::InNewerHeaders<"cuStreamBeginCaptureToGraph", 12030>;
using cudaGraphConditionalHandleCreate =
    detail::InNewerHeaders<"cudaGraphConditionalHandleCreate", 12030>;
using cudaStreamBeginCaptureToGraph =
    detail::InNewerHeaders<"cudaStreamBeginCaptureToGraph", 12030>;
using cuFuncGetName = detail::InNewerHeaders<"cuFuncGetName", 12030>;
using cuKernelGetName = detail::InNewerHeaders<"cuKernelGetName", 12030>;
#endif
#if CUDA_VERSION < 12040
using cuFuncGetParamInfo = detail::InNewerHeaders<"cuFuncGetParamInfo", 12040>;
using cuKernelGetParamInfo = detail::InNewerHeaders<"cuKernelGetParamInfo", 12040>;
using cuLibraryEnumerateKernels = detail::InNewerHeaders<"cuLibraryEnumerateKernels", 12040>;
using cuLibraryGetKernelCount = detail::InNewerHeaders<"cuLibraryGetKernelCount", 12040>;
#endif

} // namespace cushim::entry
