// Libraries and their kernels: code that needs no context, loaded into each one where it is used.
#include "images.hpp"

#if CUDA_VERSION >= 12000

using namespace sim_test;

namespace {

class LoadedLibrary : Unique {
  public:
    explicit LoadedLibrary(const void *image = vector_image) {
        REQUIRE(d.cuLibraryLoadData(&library_, image, nullptr, nullptr, 0, nullptr, nullptr, 0) ==
                good);
    }
    ~LoadedLibrary() { CHECK(d.cuLibraryUnload(library_) == good); }

    CUlibrary get() const { return library_; }
    CUkernel kernel(const char *name) const {
        CUkernel kernel = nullptr;
        REQUIRE(d.cuLibraryGetKernel(&kernel, library_, name) == good);
        return kernel;
    }

  private:
    CUlibrary library_ = nullptr;
};

CUresult library_status(const void *image) {
    CUlibrary library = nullptr;
    const CUresult status =
        d.cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (status == good) {
        CHECK(d.cuLibraryUnload(library) == good);
    }
    return status;
}

CUcontext second_context() {
    const CUcontext context = retain_primary(1);
    return context;
}

} // namespace

TEST_CASE("a library and its kernels need no context") {
    start();
    pop_current();
    CUlibrary library = nullptr;
    REQUIRE(d.cuLibraryLoadData(&library, vector_image, nullptr, nullptr, 0, nullptr, nullptr, 0) ==
            good);
    CHECK(leaks().size() == 1);
    CUkernel kernel = nullptr;
    CHECK(d.cuLibraryGetKernel(&kernel, library, "add") == good);
    CHECK(d.cuLibraryGetKernel(&kernel, library, "missing") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuLibraryGetKernel(&kernel, library, nullptr) == invalid);
    CHECK(d.cuLibraryGetKernel(nullptr, library, "add") == invalid);
    CHECK(d.cuLibraryGetKernel(&kernel, nullptr, "add") == CUDA_ERROR_INVALID_HANDLE);
    // What belongs to a context does.
    CUmodule module = nullptr;
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CHECK(d.cuLibraryGetModule(&module, library) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuLibraryGetGlobal(&address, &size, library, "counter") == CUDA_ERROR_INVALID_CONTEXT);
    CUfunction function = nullptr;
    CHECK(d.cuLibraryGetKernel(&kernel, library, "add") == good);
    CHECK(d.cuKernelGetFunction(&function, kernel) == CUDA_ERROR_INVALID_CONTEXT);
#if CUDA_VERSION >= 12040
    std::size_t offset = 0;
    CHECK(d.cuKernelGetParamInfo(kernel, 0, &offset, &size) == CUDA_ERROR_INVALID_CONTEXT);
#endif
    CHECK(d.cuLibraryUnload(library) == good);
    CHECK(leaks().empty());
}

TEST_CASE("garbage is no library") {
    start();
    CHECK(library_status("garbage") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(library_status("") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(library_status(nullptr) == invalid);
    CUlibrary library = nullptr;
    CHECK(d.cuLibraryLoadFromFile(&library, "/nowhere", nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(d.cuLibraryLoadFromFile(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          invalid);
    CUlibraryOption option = static_cast<CUlibraryOption>(99);
    void *value = nullptr;
    CHECK(d.cuLibraryLoadData(&library, vector_image, nullptr, nullptr, 0, &option, &value, 1) ==
          invalid);
    CHECK(d.cuLibraryLoadData(&library, vector_image, nullptr, nullptr, 0, nullptr, nullptr, 1) ==
          invalid);
    option = CU_LIBRARY_BINARY_IS_PRESERVED;
    REQUIRE(d.cuLibraryLoadData(&library, vector_image, nullptr, nullptr, 0, &option, &value, 1) ==
            good);
    CHECK(d.cuLibraryUnload(library) == good);
    CHECK(d.cuLibraryUnload(library) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed library");
    CHECK(d.cuLibraryUnload(nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a library is loaded into each context of its own") {
    start("devices=2");
    const CUcontext first = current();
    const CUcontext second = second_context();
    {
        const LoadedLibrary library;
        const CUkernel kernel = library.kernel("add");
        CUmodule modules[2] = {};
        CUfunction functions[2] = {};
        CUdeviceptr counters[2] = {}, flags[2] = {};
        for (int i = 0; i < 2; ++i) {
            REQUIRE(d.cuCtxSetCurrent(i == 0 ? first : second) == good);
            CHECK(d.cuLibraryGetModule(&modules[i], library.get()) == good);
            CHECK(d.cuKernelGetFunction(&functions[i], kernel) == good);
            CHECK(got<CUfunction>(&Driver::cuKernelGetFunction, out, kernel) == functions[i]);
            CHECK(got<CUmodule>(&Driver::cuFuncGetModule, out, functions[i]) == modules[i]);
            CHECK(got<CUfunction>(&Driver::cuModuleGetFunction, out, modules[i], "add") ==
                  functions[i]);
            CHECK(got<std::size_t>(&Driver::cuLibraryGetGlobal, &counters[i], out, library.get(),
                                   "counter") == 4);
            CHECK(got<std::size_t>(&Driver::cuLibraryGetManaged, &flags[i], out, library.get(),
                                   "flags") == 16);
        }
        CHECK(modules[0] != modules[1]);
        CHECK(functions[0] != functions[1]);
        CHECK(counters[0] != counters[1]);
        CHECK(flags[0] == flags[1]);
        // The library's module is not the client's to unload.
        CHECK(d.cuModuleUnload(modules[0]) == CUDA_ERROR_NOT_PERMITTED);
        // A context that goes takes its module with it; the library loads anew.
        CHECK(d.cuDevicePrimaryCtxReset(1) == good);
        REQUIRE(d.cuCtxSetCurrent(first) == good);
        CHECK(d.cuLibraryGetModule(&modules[1], library.get()) == good);
        CHECK(modules[1] == modules[0]);
    }
    CHECK(leaks().empty());
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
}

TEST_CASE("a library's variables are found by name") {
    start();
    const LoadedLibrary library;
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CHECK(d.cuLibraryGetGlobal(&address, nullptr, library.get(), "buffer") == good);
    CHECK(got(d.cuLibraryGetGlobal(nullptr, &size, library.get(), "buffer"), size) == 4096);
    CHECK(d.cuLibraryGetGlobal(nullptr, nullptr, library.get(), "buffer") == invalid);
    CHECK(d.cuLibraryGetGlobal(&address, &size, library.get(), "missing") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuLibraryGetManaged(&address, &size, library.get(), "buffer") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuLibraryGetManaged(&address, &size, library.get(), "missing") == CUDA_ERROR_NOT_FOUND);
    void *function = nullptr;
    CHECK(d.cuLibraryGetUnifiedFunction(&function, library.get(), "missing") == invalid);
}

TEST_CASE("a kernel is launched as a function, in the stream's context") {
    start("devices=2");
    const CUcontext first = current();
    const CUcontext second = second_context();
    REQUIRE(d.cuCtxSetCurrent(second) == good);
    const CUstream stream = make_stream();
    REQUIRE(d.cuCtxSetCurrent(nullptr) == good);
    {
        const LoadedLibrary library;
        int runs = 0;
        sim_control().register_kernel(
            "nothing",
            [](const cushim_sim_launch *, void *user) { return ++*static_cast<int *>(user), 0; },
            &runs);
        const auto kernel = reinterpret_cast<CUfunction>(library.kernel("nothing"));
        // Without a current context, too.
        CHECK(d.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr) == good);
        CHECK(d.cuStreamSynchronize(stream) == good);
        CHECK(runs == 1);
        CHECK(d.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
              CUDA_ERROR_INVALID_CONTEXT);
        REQUIRE(d.cuCtxSetCurrent(first) == good);
        CHECK(d.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == good);
        CHECK(runs == 2);
        // What takes a function takes a kernel, in the current context.
        CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel) == 32);
    }
    CHECK(d.cuStreamDestroy(stream) == good);
    CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
}

TEST_CASE("attributes of a kernel are those of a device") {
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
    // What is set of the function wins over what is set of the kernel.
    CUfunction function = nullptr;
    REQUIRE(d.cuKernelGetFunction(&function, kernel) == good);
    CHECK(d.cuKernelSetAttribute(dynamic, 1000, kernel, 0) == good);
    CHECK(got(d.cuFuncGetAttribute(&value, dynamic, function), value) == 1000);
    CHECK(d.cuFuncSetAttribute(function, dynamic, 2000) == good);
    CHECK(d.cuKernelSetAttribute(dynamic, 3000, kernel, 0) == good);
    CHECK(got(d.cuFuncGetAttribute(&value, dynamic, function), value) == 2000);
    CHECK(got(d.cuKernelGetAttribute(&value, dynamic, kernel, 0), value) == 3000);
}

TEST_CASE("machine code for another device is refused where it is loaded") {
    start("cc=9.0");
    const LoadedLibrary library("cushim-sim-image 1\nkernel k\ntarget cc=8.0\n");
    CUmodule module = nullptr;
    CHECK(d.cuLibraryGetModule(&module, library.get()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CUfunction function = nullptr;
    CHECK(d.cuKernelGetFunction(&function, library.kernel("k")) == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_CASE("a kernel goes with its library") {
    start();
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    {
        const LoadedLibrary library;
        kernel = library.kernel("nothing");
        REQUIRE(d.cuKernelGetFunction(&function, kernel) == good);
    }
    CHECK(d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed function");
    CHECK(d.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr,
                           nullptr, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed kernel");
}

#if CUDA_VERSION >= 12040
TEST_CASE("kernels are counted, listed and named") {
    start();
    const LoadedLibrary library;
    REQUIRE(got<unsigned int>(&Driver::cuLibraryGetKernelCount, out, library.get()) == 3);
    CUkernel two[2] = {};
    CHECK(d.cuLibraryEnumerateKernels(two, 2, library.get()) == good);
    CHECK(two[0] == library.kernel("add"));
    CHECK(d.cuLibraryEnumerateKernels(nullptr, 2, library.get()) == invalid);
    const char *name = nullptr;
    CHECK(std::string(got(d.cuKernelGetName(&name, two[1]), name)) == "nothing");
    CHECK(d.cuKernelGetName(&name, nullptr) == invalid);
    std::size_t offset = 7, size = 7;
    CHECK(d.cuKernelGetParamInfo(two[0], 3, &offset, &size) == good);
    CHECK((offset == 24 && size == 4));
    CHECK(d.cuKernelGetParamInfo(two[0], 4, &offset, &size) == invalid);
    CHECK((offset == 24 && size == 4));
#if CUDA_VERSION >= 12050
    CHECK(got<CUlibrary>(&Driver::cuKernelGetLibrary, out, two[0]) == library.get());
#endif
}
#endif

#else

TEST_CASE("libraries came with CUDA 12.0") {
    SKIP("the headers of this build are older");
}

#endif
