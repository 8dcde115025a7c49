// Libraries and their kernels: code without a context, loaded into each context that uses it.
#include "launch_tools.hpp"

#if CUDA_VERSION >= 12000

using namespace sim_test;

namespace {

CUresult load(CUlibrary &library, const void *image, CUlibraryOption *options = nullptr,
              void **values = nullptr, unsigned int count = 0) {
    return driver().cuLibraryLoadData(&library, image, nullptr, nullptr, 0, options, values, count);
}
CUlibrary loaded(const void *image) {
    CUlibrary library = nullptr;
    require_ok(load(library, image));
    return library;
}
void unload(CUlibrary library) {
    ok(driver().cuLibraryUnload(library));
}
struct LoadedLibrary : Owned<CUlibrary, unload> {
    explicit LoadedLibrary(const void *image = vector_image) : Owned(loaded(image)) {}
    CUkernel kernel(const char *name) const {
        return got<CUkernel>(&Driver::cuLibraryGetKernel, out, get(), name);
    }
};

} // namespace

TEST_CASE("loading a library and looking up its kernels need no context") {
    pop_current();
    const CUlibrary library = loaded(vector_image);
    CHECK(leaks().size() == 1);
    const auto kernel = got<CUkernel>(&Driver::cuLibraryGetKernel, out, library, "add");
#if CUDA_VERSION >= 12040
    std::size_t offset = 0, size = 0;
    CHECK(driver().cuKernelGetParamInfo(kernel, 0, &offset, &size) == CUDA_ERROR_INVALID_CONTEXT);
#endif
    unload(library);
    CHECK(leaks().empty());
}

TEST_CASE("options of a library are checked") {
    CUlibrary library = nullptr;
    CUlibraryOption unknown = static_cast<CUlibraryOption>(99),
                    known = CU_LIBRARY_BINARY_IS_PRESERVED;
    void *value = nullptr;
    check_all(invalid, {load(library, vector_image, &unknown, &value, 1),
                        load(library, vector_image, nullptr, nullptr, 1)});
    require_ok(load(library, vector_image, &known, &value, 1));
    unload(library);
    check_misuse(driver().cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE,
                 "use of a destroyed library");
}

TEST_CASE("an invalid image fails the calls that need it, not the load of the library") {
    const std::string code = GENERATE("garbage", ".version 7.0\n.target sm_52\nwrong", "!<arch>\n",
                                      "\xed"
                                      "CN\x7f" /* of LTO IR */);
    const LoadedLibrary library(code.c_str());
    CUmodule module = nullptr;
    const CUresult problem = driver().cuModuleLoadData(&module, code.c_str());
    CHECK(problem != CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    CUdeviceptr address = 0;
    check_all(problem, {driver().cuLibraryGetKernel(&kernel, library, "add"),
                        driver().cuLibraryGetModule(&module, library),
                        driver().cuLibraryGetGlobal(&address, nullptr, library, "counter"),
                        driver().cuLibraryGetManaged(&address, nullptr, library, "flags")});
#if CUDA_VERSION >= 12040
    unsigned int count = 0;
    check_all(problem, {driver().cuLibraryGetKernelCount(&count, library),
                        driver().cuLibraryEnumerateKernels(&kernel, 1, library)});
#endif
}

#ifndef _WIN32
TEST_CASE("with eager loading, an invalid image fails the load of the library") {
    CUlibrary library = nullptr;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    CHECK(load(library, "garbage") == CUDA_ERROR_INVALID_IMAGE);
    unsetenv("CUDA_MODULE_LOADING");
    CHECK(leaks().empty());
}
#endif

TEST_CASE("a library is loaded into each context that uses it") {
    start("devices=2");
    const CUcontext first = current();
    const PrimaryContext second(1);
    {
        const LoadedLibrary library;
        const CUkernel kernel = library.kernel("add");
        CUmodule modules[2] = {};
        CUfunction functions[2] = {};
        CUdeviceptr counters[2] = {}, flags[2] = {};
        for (int i = 0; i < 2; ++i) {
            require_ok(driver().cuCtxSetCurrent(i == 0 ? first : CUcontext(second)));
            ok(driver().cuLibraryGetModule(&modules[i], library));
            ok(driver().cuKernelGetFunction(&functions[i], kernel));
            CHECK(got<CUfunction>(&Driver::cuKernelGetFunction, out, kernel) == functions[i]);
            CHECK(got<CUmodule>(&Driver::cuFuncGetModule, out, functions[i]) == modules[i]);
            CHECK(got<CUfunction>(&Driver::cuModuleGetFunction, out, modules[i], "add") ==
                  functions[i]);
            CHECK(got<std::size_t>(&Driver::cuLibraryGetGlobal, &counters[i], out, library,
                                   "counter") == 4);
            CHECK(got<std::size_t>(&Driver::cuLibraryGetManaged, &flags[i], out, library,
                                   "flags") == 16);
        }
        CHECK(modules[0] != modules[1]);
        CHECK(functions[0] != functions[1]);
        CHECK(counters[0] != counters[1]);
        CHECK(flags[0] == flags[1]);
        // The client must not unload the module of a library.
        CHECK(driver().cuModuleUnload(modules[0]) == CUDA_ERROR_NOT_PERMITTED);
        // Resetting a context unloads its module; the library is loaded again on the next use.
        ok(driver().cuDevicePrimaryCtxReset(1));
        require_ok(driver().cuCtxSetCurrent(first));
        ok(driver().cuLibraryGetModule(&modules[1], library));
        CHECK(modules[1] == modules[0]);
    }
    CHECK(leaks().empty());
}

TEST_CASE("a kernel can be launched as a function in any context") {
    start("devices=2");
    const CUcontext first = current();
    const PrimaryContext second(1);
    require_ok(driver().cuCtxSetCurrent(second));
    const Stream stream;
    require_ok(driver().cuCtxSetCurrent(nullptr));
    {
        const LoadedLibrary library;
        int runs = 0;
        sim_control().register_kernel("nothing", count_runs, &runs);
        const auto kernel = reinterpret_cast<CUfunction>(library.kernel("nothing"));
        // Also without a current context.
        ok(launch(kernel, {1, 1, 1}, {1, 1, 1}, 0, stream));
        ok(driver().cuStreamSynchronize(stream));
        CHECK(runs == 1);
        CHECK(launch(kernel) == CUDA_ERROR_INVALID_CONTEXT);
        require_ok(driver().cuCtxSetCurrent(first));
        ok(launch(kernel));
        CHECK(runs == 2);
        // Calls that take a function accept a kernel in the current context.
        CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel) == 32);
    }
}

TEST_CASE("attributes of a kernel are set for each device") {
    start("devices=2");
    const LoadedLibrary library;
    const CUkernel kernel = library.kernel("mixed");
    constexpr auto dynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    int value = 0;
    CHECK(got(driver().cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0),
              value) == 40);
    ok(driver().cuKernelSetAttribute(dynamic, 64 << 10, kernel, 1));
    CHECK(got(driver().cuKernelGetAttribute(&value, dynamic, kernel, 1), value) == 64 << 10);
    CHECK(got(driver().cuKernelGetAttribute(&value, dynamic, kernel, 0), value) ==
          (48 << 10) - 1024);
    CHECK(driver().cuKernelSetAttribute(dynamic, 1 << 30, kernel, 0) == invalid);
    // An attribute of the function overrides that of the kernel.
    const auto function = got<CUfunction>(&Driver::cuKernelGetFunction, out, kernel);
    ok(driver().cuKernelSetAttribute(dynamic, 1000, kernel, 0));
    CHECK(got(driver().cuFuncGetAttribute(&value, dynamic, function), value) == 1000);
    ok(driver().cuFuncSetAttribute(function, dynamic, 2000));
    ok(driver().cuKernelSetAttribute(dynamic, 3000, kernel, 0));
    CHECK(got(driver().cuFuncGetAttribute(&value, dynamic, function), value) == 2000);
    CHECK(got(driver().cuKernelGetAttribute(&value, dynamic, kernel, 0), value) == 3000);
}

TEST_CASE("a library without code for the device fails when it is used") {
    start("cc=9.0");
    const LoadedLibrary library("cushim-sim-image 1\nkernel k\ntarget cc=8.0\n");
    CUmodule module = nullptr;
    CHECK(driver().cuLibraryGetModule(&module, library) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CUfunction function = nullptr;
    CHECK(driver().cuKernelGetFunction(&function, library.kernel("k")) ==
          CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_CASE("unloading a library destroys its kernels") {
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    {
        const LoadedLibrary library;
        kernel = library.kernel("nothing");
        require_ok(driver().cuKernelGetFunction(&function, kernel));
    }
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(launch(function), refused, "use of a destroyed function");
    check_misuse(launch(reinterpret_cast<CUfunction>(kernel)), refused,
                 "use of a destroyed kernel");
}

#endif
