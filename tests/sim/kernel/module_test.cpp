// Modules: loading, what is found in them, whose they are, when they go.
#include "images.hpp"

#include <filesystem>
#include <fstream>

using namespace sim_test;

namespace {

// A file that ends with its scope.
class File : Unique {
  public:
    explicit File(const std::string &bytes) {
        static int files = 0;
        path_ = std::filesystem::temp_directory_path() /
                ("cushim-module-test-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) +
                 "-" + std::to_string(++files));
        std::ofstream(path_, std::ios::binary) << bytes;
    }
    ~File() { std::filesystem::remove(path_); }
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

} // namespace

TEST_CASE("loading a module needs a context") {
    start();
    pop_current();
    CUmodule module = nullptr;
    CHECK(d.cuModuleLoadData(&module, vector_image) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuModuleLoadDataEx(&module, vector_image, 0, nullptr, nullptr) ==
          CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuModuleLoadFatBinary(&module, vector_image) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuModuleLoad(&module, "/nowhere") == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("unloading a module needs no context") {
    start();
    const CUmodule module = load_module(vector_image);
    CHECK(leaks().size() == 1);
    pop_current();
    CHECK(d.cuModuleUnload(module) == good);
    CHECK(leaks().empty());
}

TEST_CASE("a module is loaded from a file") {
    start();
    CUmodule module = nullptr;
    const File valid(vector_image), bad("garbage"), empty(""),
        cut(std::string("\x7f"
                        "ELF\x02\x01\x01"));
    CHECK(d.cuModuleUnload(got(d.cuModuleLoad(&module, valid.path().c_str()), module)) == good);
    CHECK(d.cuModuleLoad(&module, bad.path().c_str()) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(d.cuModuleLoad(&module, empty.path().c_str()) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(d.cuModuleLoad(&module, cut.path().c_str()) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(d.cuModuleLoad(&module, "/nowhere/at/all") == CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(d.cuModuleLoad(&module, std::filesystem::temp_directory_path().string().c_str()) ==
          CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(d.cuModuleLoad(&module, nullptr) == invalid);
    CHECK(d.cuModuleLoad(nullptr, valid.path().c_str()) == invalid);
}

TEST_CASE("what is not in a module answers 500") {
    start();
    const LoadedModule module;
    CUfunction function = nullptr;
    CHECK(d.cuModuleGetFunction(&function, module, "missing") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuModuleGetFunction(&function, module, "") == invalid);
    CHECK(d.cuModuleGetFunction(&function, module, "counter") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuModuleGetFunction(&function, module, nullptr) == invalid);
    CHECK(d.cuModuleGetFunction(nullptr, module, "add") == invalid);
    CHECK(d.cuModuleGetFunction(&function, nullptr, "add") == CUDA_ERROR_INVALID_HANDLE);
    CUdeviceptr address = 0;
    std::size_t size = 0;
    CHECK(d.cuModuleGetGlobal(&address, &size, module, "add") == CUDA_ERROR_NOT_FOUND);
    CHECK(d.cuModuleGetGlobal(nullptr, nullptr, module, "counter") == invalid);
    CHECK(d.cuModuleGetGlobal(&address, &size, module, nullptr) == invalid);
}

TEST_CASE("a failed load poisons its output") {
    start();
    CUmodule module = nullptr;
    CHECK(d.cuModuleLoadData(&module, "garbage") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(module != nullptr); // who uses it anyway is caught
    CHECK(d.cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("is not a module handle");
}

TEST_CASE("global variables are device memory of their size") {
    start();
    const LoadedModule module;
    CUdeviceptr buffer = 0;
    std::size_t size = 0;
    CHECK(got(d.cuModuleGetGlobal(&buffer, &size, module, "buffer"), size) == 4096);
    CHECK(d.cuModuleGetGlobal(&buffer, nullptr, module, "buffer") == good);
    CHECK(d.cuModuleGetGlobal(nullptr, &size, module, "buffer") == good);
    CHECK(d.cuMemsetD8(buffer, 7, size) == good);
    unsigned char byte = 0;
    CHECK(got(d.cuMemcpyDtoH(&byte, buffer + 4095, 1), byte) == 7);
    CHECK(d.cuMemcpyDtoH(&byte, buffer + 4096, 1) == invalid);
    // Not the client's to free.
    CHECK(d.cuMemFree(buffer) == invalid);
    expect_misuse("cuMemFree of variable");
    // Managed: the host can touch it.
    const CUdeviceptr flags = module.global("flags");
    const auto *host = reinterpret_cast<const unsigned char *>(static_cast<std::uintptr_t>(flags));
    CHECK(host[0] == 7);
    CHECK(host[15] == 0);
}

TEST_CASE("unloading ends what was in the module") {
    start();
    const CUmodule module = load_module(vector_image);
    CUdeviceptr counter = 0;
    CUfunction add = function_of(module, "nothing");
    CHECK(d.cuModuleGetGlobal(&counter, nullptr, module, "counter") == good);
    CHECK(d.cuModuleUnload(module) == good);
    CHECK(d.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed function");
    int value = 0;
    CHECK(d.cuMemcpyDtoH(&value, counter, 4) == invalid);
    expect_misuse("memory that was freed");
    CHECK(d.cuModuleGetFunction(&add, module, "add") == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed module");
    CHECK(d.cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed module");
}

TEST_CASE("a module goes with its context") {
    start();
    const CUmodule module = load_module(vector_image);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    CUfunction function = nullptr;
    CHECK(d.cuModuleGetFunction(&function, module, "add") == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE); // as measured
}

TEST_CASE("a handle of another kind is no module") {
    start();
    const Stream stream;
    CUfunction function = nullptr;
    CHECK(d.cuModuleGetFunction(&function, reinterpret_cast<CUmodule>(stream.get()), "add") ==
          CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("a module handle was expected");
    CHECK(d.cuModuleUnload(nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("variables count against the device's budget") {
    start("memory=1GiB;budget=64MiB");
    CHECK(load_status("cushim-sim-image 1\nglobal big size=0x8000000") == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(leaks().empty());
    CHECK(load_status("cushim-sim-image 1\nglobal fits size=0x1000000") == good);
}

TEST_CASE("options of the just-in-time compiler are checked") {
    start();
    CUmodule module = nullptr;
    const auto load = [&](std::vector<CUjit_option> options, std::vector<void *> values) {
        const CUresult status =
            d.cuModuleLoadDataEx(&module, vector_image, static_cast<unsigned int>(options.size()),
                                 options.data(), values.data());
        if (status == good) {
            CHECK(d.cuModuleUnload(module) == good);
        }
        return status;
    };
    const auto number = [](std::uintptr_t value) { return reinterpret_cast<void *>(value); };
    CHECK(load({CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL}, {number(16), number(4)}) == good);
    CHECK(load({CU_JIT_NUM_OPTIONS}, {nullptr}) == invalid);
    CHECK(load({static_cast<CUjit_option>(999)}, {nullptr}) == invalid);
    CHECK(load({static_cast<CUjit_option>(-1)}, {nullptr}) == invalid);
    CHECK(load({CU_JIT_OPTIMIZATION_LEVEL}, {number(5)}) == invalid);
    CHECK(load({CU_JIT_TARGET, CU_JIT_THREADS_PER_BLOCK}, {number(90), number(64)}) == invalid);
    CHECK(d.cuModuleLoadDataEx(&module, vector_image, 1, nullptr, nullptr) == invalid);
    CUjit_option from_context = CU_JIT_TARGET_FROM_CUCONTEXT, level = CU_JIT_OPTIMIZATION_LEVEL;
    CHECK(d.cuModuleLoadDataEx(&module, vector_image, 1, &level, nullptr) == invalid);
    CHECK(d.cuModuleLoadDataEx(&module, vector_image, 1, &from_context, nullptr) == good);
    CHECK(d.cuModuleUnload(module) == good);
}

TEST_CASE("logs go into the client's buffers, as far as they reach") {
    start();
    char info[256], error[16];
    std::memset(info, 'x', sizeof info);
    std::memset(error, 'x', sizeof error);
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER,  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_LOG_VERBOSE,      CU_JIT_WALL_TIME};
    const auto load = [&](const char *image, std::size_t error_size) {
        void *values[] = {info,
                          reinterpret_cast<void *>(sizeof info),
                          error,
                          reinterpret_cast<void *>(error_size),
                          reinterpret_cast<void *>(std::uintptr_t(1)),
                          nullptr};
        CUmodule module = nullptr;
        const CUresult status = d.cuModuleLoadDataEx(&module, image, 6, options, values);
        if (status == good) {
            CHECK(d.cuModuleUnload(module) == good);
            float wall_time = -1;
            std::memcpy(&wall_time, &values[5], sizeof wall_time);
            CHECK(wall_time >= 0);
            CHECK(reinterpret_cast<std::uintptr_t>(values[1]) == std::strlen(info));
        }
        return status;
    };
    CHECK(load(vector_image, sizeof error) == good);
    CHECK(std::string(info).find("Compiling entry function 'add'") != std::string::npos);
    CHECK(error[0] == '\0');
    CHECK(load("garbage that is refused", 8) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(std::strlen(error) == 7);
    CHECK(error[8] == 'x');
    CHECK(load("garbage that is refused", 0) == CUDA_ERROR_INVALID_IMAGE);
}

TEST_CASE("the compiler can be told how many registers to use") {
    start();
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = reinterpret_cast<void *>(std::uintptr_t(24));
    CUmodule module = nullptr;
    REQUIRE(d.cuModuleLoadDataEx(&module, vector_image, 1, &option, &value) == good);
    const CUfunction mixed = function_of(module, "mixed");
    CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS, mixed) == 24);
    CHECK(d.cuModuleUnload(module) == good);
}

TEST_CASE("attributes of a function are told and set") {
    start();
    const LoadedModule module;
    const CUfunction mixed = module.function("mixed");
    const auto get = [&](int attribute) {
        int value = -99;
        CHECK(d.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(attribute), mixed) ==
              good);
        return value;
    };
    const auto set = [&](int attribute, int value) {
        return d.cuFuncSetAttribute(mixed, static_cast<CUfunction_attribute>(attribute), value);
    };
    CHECK(get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == (48 << 10) - 1024);
    CHECK(get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) == -1);
    CHECK(get(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA) == 0);
    int most = 0;
    CHECK(d.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0) ==
          good);
    CHECK(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - 1024) == good);
    CHECK(get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == most - 1024);
    CHECK(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most) == invalid);
    CHECK(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1) == invalid);
    CHECK(set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50) == good);
    CHECK(set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101) == invalid);
    CHECK(set(CU_FUNC_ATTRIBUTE_NUM_REGS, 1) == invalid);
    CHECK(set(99, 1) == invalid);
    int value = 0;
    CHECK(d.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(99), mixed) == invalid);
    CHECK(d.cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, mixed) == invalid);
    CHECK(d.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuFuncSetCacheConfig(mixed, CU_FUNC_CACHE_PREFER_L1) == good);
    CHECK(d.cuFuncSetCacheConfig(mixed, static_cast<CUfunc_cache>(9)) == invalid);
    CHECK(got<CUmodule>(&Driver::cuFuncGetModule, out, mixed) == module);
#if CUDA_VERSION >= 12000
    CHECK(set(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2) == good);
    CHECK(get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) == 2);
    CHECK(get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) == 1);
    CHECK(set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2) == invalid);
    const LoadedModule fixed("cushim-sim-image 1\nkernel k cluster=2,1,1");
    CHECK(d.cuFuncSetAttribute(fixed.function("k"), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4) ==
          CUDA_ERROR_NOT_PERMITTED);
#endif
}

#if CUDA_VERSION >= 12040
TEST_CASE("functions tell their name, their parameters and whether they are loaded") {
    start();
    const LoadedModule module;
    REQUIRE(got<unsigned int>(&Driver::cuModuleGetFunctionCount, out, module) == 3);
    CUfunction all[4] = {nullptr, nullptr, nullptr, nullptr};
    CHECK(d.cuModuleEnumerateFunctions(all, 4, module) == good);
    CHECK(all[3] == nullptr);
    CUfunction none = nullptr;
    CHECK(got(d.cuModuleEnumerateFunctions(&none, 0, module), none) == nullptr);
    CHECK(d.cuModuleEnumerateFunctions(nullptr, 1, module) == invalid);
    const char *name = nullptr;
    CHECK(std::string(got(d.cuFuncGetName(&name, all[2]), name)) == "mixed");
    CHECK(d.cuFuncGetName(nullptr, all[2]) == invalid);
    CHECK(d.cuFuncGetName(&name, nullptr) == invalid);
    CHECK(got<CUfunctionLoadingState>(&Driver::cuFuncIsLoaded, out, all[0]) ==
          CU_FUNCTION_LOADING_STATE_UNLOADED);
    CHECK(d.cuFuncLoad(all[0]) == good);
    CHECK(got<CUfunctionLoadingState>(&Driver::cuFuncIsLoaded, out, all[0]) ==
          CU_FUNCTION_LOADING_STATE_LOADED);
    CHECK(got<CUfunctionLoadingState>(&Driver::cuFuncIsLoaded, out, module.function("nothing")) ==
          CU_FUNCTION_LOADING_STATE_LOADED);
    CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
    CHECK(d.cuModuleGetLoadingMode(&mode) == good);
    CHECK(d.cuModuleGetLoadingMode(nullptr) == invalid);
    expect_misuse("cuModuleGetLoadingMode into a null pointer");
    CHECK(mode == CU_MODULE_LAZY_LOADING);
    // Past the last parameter: refused, and the outputs keep what they held.
    std::size_t offset = 0, size = 0;
    const CUfunction add = module.function("add");
    CHECK(d.cuFuncGetParamInfo(add, 3, &offset, &size) == good);
    CHECK((offset == 24 && size == 4));
    CHECK(d.cuFuncGetParamInfo(add, 4, &offset, &size) == invalid);
    CHECK((offset == 24 && size == 4));
    CHECK(d.cuFuncGetParamInfo(add, 0, &offset, nullptr) == good);
    CHECK(d.cuFuncGetParamInfo(add, 0, nullptr, &size) == invalid);
}
#endif
