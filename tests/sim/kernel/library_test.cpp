// Libraries and their kernels: code without a context, loaded into each context that uses it.
#include "launch_tools.hpp"

#if CUDA_VERSION >= 12000

using namespace sim_test;

namespace {

CUresult load(CUlibrary &library, const void *image, CUlibraryOption *options = nullptr,
              void **values = nullptr, unsigned int count = 0) {
    return d.cuLibraryLoadData(&library, image, nullptr, nullptr, 0, options, values, count);
}
CUlibrary loaded(const void *image) {
    CUlibrary library = nullptr;
    REQUIRE(load(library, image) == good);
    return library;
}
void unload(CUlibrary library) {
    CHECK(d.cuLibraryUnload(library) == good);
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
    CUkernel kernel = nullptr;
    CHECK(d.cuLibraryGetKernel(&kernel, library, "add") == good);
    CHECK(d.cuLibraryGetKernel(&kernel, library, "missing") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuLibraryGetKernel(&kernel, library, nullptr) == invalid);
    CHECK(d.cuLibraryGetKernel(nullptr, library, "add") == invalid);
    CHECK(d.cuLibraryGetKernel(&kernel, nullptr, "add") == CUDA_ERROR_INVALID_HANDLE);
    // Modules, variables and functions need a context.
    CUmodule module = nullptr;
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CHECK(d.cuLibraryGetModule(&module, library) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuLibraryGetGlobal(&address, &size, library, "counter") == CUDA_ERROR_INVALID_CONTEXT);
    CUfunction function = nullptr;
    kernel = got<CUkernel>(&Driver::cuLibraryGetKernel, out, library, "add");
    CHECK(d.cuKernelGetFunction(&function, kernel) == CUDA_ERROR_INVALID_CONTEXT);
#if CUDA_VERSION >= 12040
    std::size_t offset = 0;
    CHECK(d.cuKernelGetParamInfo(kernel, 0, &offset, &size) == CUDA_ERROR_INVALID_CONTEXT);
#endif
    unload(library);
    CHECK(leaks().empty());
}

TEST_CASE("invalid libraries are rejected") {
    CUlibrary library = nullptr;
    check_all(CUDA_ERROR_INVALID_IMAGE, {load(library, "garbage"), load(library, "")});
    const auto load_file = [&](const char *path) {
        return d.cuLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0);
    };
    CHECK(load_file("/nowhere") == CUDA_ERROR_FILE_NOT_FOUND);
    CUlibraryOption unknown = static_cast<CUlibraryOption>(99),
                    known = CU_LIBRARY_BINARY_IS_PRESERVED;
    void *value = nullptr;
    check_all(invalid, {load(library, nullptr), load_file(nullptr),
                        load(library, vector_image, &unknown, &value, 1),
                        load(library, vector_image, nullptr, nullptr, 1)});
    REQUIRE(load(library, vector_image, &known, &value, 1) == good);
    unload(library);
    check_misuse(d.cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE,
                 "use of a destroyed library");
    CHECK(d.cuLibraryUnload(nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

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
            REQUIRE(d.cuCtxSetCurrent(i == 0 ? first : CUcontext(second)) == good);
            CHECK(d.cuLibraryGetModule(&modules[i], library) == good);
            CHECK(d.cuKernelGetFunction(&functions[i], kernel) == good);
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
        CHECK(d.cuModuleUnload(modules[0]) == CUDA_ERROR_NOT_PERMITTED);
        // Resetting a context unloads its module; the library is loaded again on the next use.
        CHECK(d.cuDevicePrimaryCtxReset(1) == good);
        REQUIRE(d.cuCtxSetCurrent(first) == good);
        CHECK(d.cuLibraryGetModule(&modules[1], library) == good);
        CHECK(modules[1] == modules[0]);
    }
    CHECK(leaks().empty());
}

TEST_CASE("variables of a library are found by name") {
    const LoadedLibrary library;
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CHECK(d.cuLibraryGetGlobal(&address, nullptr, library, "buffer") == good);
    CHECK(got(d.cuLibraryGetGlobal(nullptr, &size, library, "buffer"), size) == 4096);
    CHECK(d.cuLibraryGetGlobal(nullptr, nullptr, library, "buffer") == invalid);
    CHECK(d.cuLibraryGetGlobal(&address, &size, library, "missing") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuLibraryGetManaged(&address, &size, library, "buffer") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuLibraryGetManaged(&address, &size, library, "missing") == CUDA_ERROR_NOT_FOUND);
    void *function = nullptr;
    CHECK(d.cuLibraryGetUnifiedFunction(&function, library, "missing") == invalid);
}

TEST_CASE("a kernel can be launched as a function in any context") {
    start("devices=2");
    const CUcontext first = current();
    const PrimaryContext second(1);
    REQUIRE(d.cuCtxSetCurrent(second) == good);
    const Stream stream;
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    {
        const LoadedLibrary library;
        int runs = 0;
        sim_control().register_kernel("nothing", count_runs, &runs);
        const auto kernel = reinterpret_cast<CUfunction>(library.kernel("nothing"));
        // Also without a current context.
        CHECK(launch(kernel, {1, 1, 1}, {1, 1, 1}, 0, stream) == good);
        CHECK(d.cuStreamSynchronize(stream) == good);
        CHECK(runs == 1);
        CHECK(launch(kernel) == CUDA_ERROR_INVALID_CONTEXT);
        REQUIRE(d.cuCtxSetCurrent(first) == good);
        CHECK(launch(kernel) == good);
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
    CHECK(got(d.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0), value) == 40);
    CHECK(d.cuKernelSetAttribute(dynamic, 64 << 10, kernel, 1) == good);
    CHECK(got(d.cuKernelGetAttribute(&value, dynamic, kernel, 1), value) == 64 << 10);
    CHECK(got(d.cuKernelGetAttribute(&value, dynamic, kernel, 0), value) == (48 << 10) - 1024);
    CHECK(d.cuKernelGetAttribute(&value, dynamic, kernel, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuKernelSetAttribute(dynamic, 0, kernel, -1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(d.cuKernelSetAttribute(dynamic, 1 << 30, kernel, 0) == invalid);
    CHECK(d.cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1, 0) == good);
    CHECK(d.cuKernelSetCacheConfig(kernel, static_cast<CUfunc_cache>(7), 0) == invalid);
    // An attribute of the function overrides that of the kernel.
    CUfunction function = nullptr;
    REQUIRE(d.cuKernelGetFunction(&function, kernel) == good);
    CHECK(d.cuKernelSetAttribute(dynamic, 1000, kernel, 0) == good);
    CHECK(got(d.cuFuncGetAttribute(&value, dynamic, function), value) == 1000);
    CHECK(d.cuFuncSetAttribute(function, dynamic, 2000) == good);
    CHECK(d.cuKernelSetAttribute(dynamic, 3000, kernel, 0) == good);
    CHECK(got(d.cuFuncGetAttribute(&value, dynamic, function), value) == 2000);
    CHECK(got(d.cuKernelGetAttribute(&value, dynamic, kernel, 0), value) == 3000);
}

TEST_CASE("a library without code for the device fails when it is used") {
    start("cc=9.0");
    const LoadedLibrary library("cushim-sim-image 1\nkernel k\ntarget cc=8.0\n");
    CUmodule module = nullptr;
    CHECK(d.cuLibraryGetModule(&module, library) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CUfunction function = nullptr;
    CHECK(d.cuKernelGetFunction(&function, library.kernel("k")) == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_CASE("unloading a library destroys its kernels") {
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    {
        const LoadedLibrary library;
        kernel = library.kernel("nothing");
        REQUIRE(d.cuKernelGetFunction(&function, kernel) == good);
    }
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(launch(function), refused, "use of a destroyed function");
    check_misuse(launch(reinterpret_cast<CUfunction>(kernel)), refused,
                 "use of a destroyed kernel");
}

#if CUDA_VERSION >= 12040
TEST_CASE("kernels of a library are counted, listed and named") {
    const LoadedLibrary library;
    REQUIRE(got<unsigned int>(&Driver::cuLibraryGetKernelCount, out, library) == 3);
    CUkernel two[2] = {};
    CHECK(d.cuLibraryEnumerateKernels(two, 2, library) == good);
    CHECK(two[0] == library.kernel("add"));
    CHECK(d.cuLibraryEnumerateKernels(nullptr, 2, library) == invalid);
    const char *name = nullptr;
    CHECK(std::string(got(d.cuKernelGetName(&name, two[1]), name)) == "nothing");
    CHECK(d.cuKernelGetName(&name, nullptr) == invalid);
    std::size_t offset = 7, size = 7;
    CHECK(d.cuKernelGetParamInfo(two[0], 3, &offset, &size) == good);
    CHECK((offset == 24 && size == 4));
    CHECK(d.cuKernelGetParamInfo(two[0], 4, &offset, &size) == invalid);
    CHECK((offset == 24 && size == 4));
#if CUDA_VERSION >= 12050
    CHECK(got<CUlibrary>(&Driver::cuKernelGetLibrary, out, two[0]) == library);
#endif
}
#endif

#else

TEST_CASE("libraries require CUDA 12.0") {
    SKIP("the headers of this build are older");
}

#endif
