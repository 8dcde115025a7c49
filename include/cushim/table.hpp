/* The raw tables: every entry point of the CUDA driver and runtime APIs as an inline function.
 *
 *     CUdeviceptr memory;
 *     CUresult status = cushim::driver().cuMemAlloc(&memory, 1 << 20);
 *
 * Names, parameters and statuses are CUDA's own, and NVIDIA's macros apply: with its headers,
 * cuMemAlloc is cuMemAlloc_v2, and in a file that defines CUDA_API_PER_THREAD_DEFAULT_STREAM the
 * per-thread variants are meant. Every bare name is also there as <name>_v1, whatever the headers
 * make of it: cuMemAlloc_v1 is the first ABI, with 32-bit sizes.
 *
 * driver() and runtime() never fail and load nothing. The first call of each function finds the
 * library and the function (loader.hpp says how); from then on a call is one load and one indirect
 * call. A function that cannot be forwarded answers a status that says why:
 *
 *     no library found                                cu*: 303        cuda*: 35, or 303 with a driver
 *     no driver found, but a libcudart                                cuda*: 35
 *     only the toolkit's link stub found              cu*: 34         cuda*: 35
 *     introduced after the installed driver           cu*: 36
 *     missing otherwise                               cu*: 302        cuda*: 302
 *
 * and leaves its outputs untouched, except that cudaGetDeviceCount writes 0. The functions that give
 * names and texts of errors then ask a libcudart that is there, and else take built-in ones; with a
 * driver they also name the statuses above that it does not know itself. cudaGetLastError and
 * cudaPeekAtLastError know the last failed call of their thread. Without a libcudart the two versions
 * are told as a program with a static libcudart in it tells them: cudaDriverGetVersion answers 0
 * (success) and writes the driver's, 0 where there is none; cudaRuntimeGetVersion that of the headers
 * (with headers of CUDA 11 and no driver: 35). Whether there is a libcudart, runtime_version() says.
 *
 * Nothing calls cuInit for you. Threads: any number at any time, also from static constructors.
 * CUDA headers of 11.4 or newer; drivers of CUDA 11.4 or newer, older ones as far as they go.
 */
#ifndef CUSHIM_TABLE_HPP
#define CUSHIM_TABLE_HPP

#include <cushim/driver_table.hpp>
#include <cushim/loader.hpp>
#include <cushim/runtime_table.hpp>

namespace cushim {

/* The table, if the library is there to answer: else why not (library_not_found, stub_library).
 * Loads. */
CUSHIM_LOCAL inline Result<DriverTable> try_driver() noexcept {
    CUSHIM_TRY_VOID(load_driver());
    return driver();
}

CUSHIM_LOCAL inline Result<RuntimeTable> try_runtime() noexcept {
    CUSHIM_TRY_VOID(load_runtime());
    return runtime();
}

} // namespace cushim

#endif
