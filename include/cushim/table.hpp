/* The raw tables: every entry point of the CUDA driver and runtime APIs as an inline function.
 *
 *     CUdeviceptr memory;
 *     CUresult status = cushim::driver().cuMemAlloc(&memory, 1 << 20);
 *
 * Names, parameters and statuses are CUDA's own, and the macros of the CUDA headers apply:
 * cuMemAlloc is cuMemAlloc_v2, and a file that defines CUDA_API_PER_THREAD_DEFAULT_STREAM gets the
 * per-thread variants. Every unversioned name also exists as <name>_v1: cuMemAlloc_v1 is the first
 * ABI, with 32-bit sizes.
 *
 * driver() and runtime() never fail and load nothing. The first call of a function finds the
 * library and the function (loader.hpp). Afterwards a call is one load and one indirect call; with
 * the shared library, a second load gets the address of the slot. Nothing calls cuInit.
 *
 * Threads: any, at any time, also in static constructors.
 * Errors: a function that cannot be forwarded returns a status that says why:
 *
 *     no library found                                cu*: 303      cuda*: 35, or 303 with a driver
 *     no driver found, but a libcudart                              cuda*: 35
 *     only the toolkit's link stub found              cu*: 34       cuda*: 35
 *     introduced after the installed driver           cu*: 36
 *     missing otherwise                               cu*: 302      cuda*: 302
 *
 * 303 is CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 302 CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 36
 * CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 34 CUDA_ERROR_STUB_LIBRARY, 35
 * cudaErrorInsufficientDriver.
 *
 * Such a function leaves its outputs unchanged, with these exceptions:
 * - cudaGetDeviceCount writes 0.
 * - Names and texts of errors are built in. Those of a library that is used come from the library,
 *   except for the statuses above that it does not know.
 * - cudaGetLastError and cudaPeekAtLastError return the last failed call of the thread.
 * - cudaDriverGetVersion and cudaRuntimeGetVersion succeed without a libcudart, as in NVIDIA's
 *   static library: they write the driver's version (0 without a driver) and that of the headers
 *   (with headers of CUDA 11 and no driver: 35). runtime_version() is unknown without a
 *   libcudart.
 *
 * Requires CUDA headers 11.4 or newer. Drivers older than 11.4 work as far as they have the
 * functions.
 */
#ifndef CUSHIM_TABLE_HPP
#define CUSHIM_TABLE_HPP

#include <cushim/driver_table.hpp>
#include <cushim/loader.hpp>
#include <cushim/runtime_table.hpp>

namespace cushim {

/* The table if the library can be used, otherwise the reason (library_not_found, stub_library).
 * Both functions load the library. */
CUSHIM_LOCAL inline Result<DriverTable> try_driver() noexcept {
    CUSHIM_DETAIL_TRY_VOID(cushim_done, detail::named("try_driver", load_driver()));
    return driver();
}
CUSHIM_LOCAL inline Result<RuntimeTable> try_runtime() noexcept {
    CUSHIM_DETAIL_TRY_VOID(cushim_done, detail::named("try_runtime", load_runtime()));
    return runtime();
}

} // namespace cushim

#endif
