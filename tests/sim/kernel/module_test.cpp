// Modules: loading, functions and variables, lifetime.
#include "launch_tools.hpp"

using namespace sim_test;

namespace {

// Options of the just-in-time compiler with their values.
class JitOptions {
  public:
    JitOptions() = default;
    JitOptions(std::initializer_list<std::pair<CUjit_option, std::uintptr_t>> options) {
        for (const auto &[option, value] : options) {
            names.push_back(option);
            values.push_back(reinterpret_cast<void *>(value));
        }
    }
    unsigned int count() const { return static_cast<unsigned int>(names.size()); }

    std::vector<CUjit_option> names;
    std::vector<void *> values;
};

// Loads vector_image with these options and unloads it.
CUresult load_with(JitOptions options) {
    CUmodule module = nullptr;
    const CUresult status = d.cuModuleLoadDataEx(&module, vector_image, options.count(),
                                                 options.names.data(), options.values.data());
    if (status == good) {
        destroy(module);
    }
    return status;
}

} // namespace

TEST_CASE("loading a module needs a context, unloading does not") {
    CUmodule module = nullptr;
    const CUmodule loaded = load_module(vector_image);
    CHECK(leaks().size() == 1);
    pop_current();
    check_all(CUDA_ERROR_INVALID_CONTEXT,
              {d.cuModuleLoadData(&module, vector_image),
               d.cuModuleLoadDataEx(&module, vector_image, 0, nullptr, nullptr),
               d.cuModuleLoadFatBinary(&module, vector_image),
               d.cuModuleLoad(&module, "/nowhere")});
    destroy(loaded);
    CHECK(leaks().empty());
}

TEST_CASE("a module can be loaded from a file") {
    CUmodule module = nullptr;
    const TemporaryFile valid(vector_image), bad("garbage"), empty(""),
        cut("\x7f"
            "ELF\x02\x01\x01");
    const auto load = [&](const std::string &path) {
        return d.cuModuleLoad(&module, path.c_str());
    };
    CHECK(load(valid.path()) == good);
    destroy(module);
    check_all(CUDA_ERROR_INVALID_IMAGE, {load(bad.path()), load(empty.path()), load(cut.path())});
    check_all(CUDA_ERROR_FILE_NOT_FOUND,
              {load("/nowhere/at/all"), load(std::filesystem::temp_directory_path().string())});
    check_all(invalid,
              {d.cuModuleLoad(&module, nullptr), d.cuModuleLoad(nullptr, valid.path().c_str())});
}

TEST_CASE("looking up a missing name in a module fails with NOT_FOUND") {
    const LoadedModule module;
    CUfunction function = nullptr;
    CUdeviceptr address = 0;
    std::size_t size = 0;
    check_all(CUDA_ERROR_NOT_FOUND, {d.cuModuleGetFunction(&function, module, "missing"),
                                     d.cuModuleGetFunction(&function, module, "counter"),
                                     d.cuModuleGetGlobal(&address, &size, module, "add")});
    check_all(invalid, {d.cuModuleGetFunction(&function, module, ""),
                        d.cuModuleGetFunction(&function, module, nullptr),
                        d.cuModuleGetFunction(nullptr, module, "add"),
                        d.cuModuleGetGlobal(nullptr, nullptr, module, "counter"),
                        d.cuModuleGetGlobal(&address, &size, module, nullptr)});
    CHECK(d.cuModuleGetFunction(&function, nullptr, "add") == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("global variables of a module are device memory") {
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
    // The client must not free it.
    check_misuse(d.cuMemFree(buffer), invalid, "cuMemFree of variable");
    // A managed variable is accessible to the host.
    const CUdeviceptr flags = module.global("flags");
    const auto *host = reinterpret_cast<const unsigned char *>(static_cast<std::uintptr_t>(flags));
    CHECK(host[0] == 7);
    CHECK(host[15] == 0);
}

TEST_CASE("unloading a module destroys its functions and variables") {
    const CUmodule module = load_module(vector_image);
    CUfunction function = function_of(module, "nothing");
    const auto counter =
        got<CUdeviceptr>(&Driver::cuModuleGetGlobal, out, nullptr, module, "counter");
    destroy(module);
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(launch(function), refused, "use of a destroyed function");
    int value = 0;
    check_misuse(d.cuMemcpyDtoH(&value, counter, 4), invalid, "memory that was freed");
    check_misuse(d.cuModuleGetFunction(&function, module, "add"), refused,
                 "use of a destroyed module");
    check_misuse(d.cuModuleUnload(module), refused, "use of a destroyed module");
}

TEST_CASE("resetting a context unloads its modules") {
    const CUmodule module = load_module(vector_image);
    CHECK(d.cuDevicePrimaryCtxReset(0) == good);
    CHECK(leaks().empty());
    CUfunction function = nullptr;
    CHECK(d.cuModuleGetFunction(&function, module, "add") == CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(d.cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE); // as measured
}

TEST_CASE("an invalid module handle fails and is reported") {
    const Stream stream;
    CUfunction function = nullptr;
    CUmodule module = nullptr;
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(d.cuModuleGetFunction(&function, reinterpret_cast<CUmodule>(stream.get()), "add"),
                 refused, "a module handle was expected");
    CHECK(d.cuModuleUnload(nullptr) == refused);
    CHECK(d.cuModuleLoadData(&module, "garbage") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(module != nullptr);
    check_misuse(d.cuModuleUnload(module), refused, "is not a module handle");
}

TEST_CASE("variables of a module count against the memory budget of the device") {
    start("memory=1GiB;budget=64MiB");
    CHECK(load_status("cushim-sim-image 1\nglobal big size=0x8000000") == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(leaks().empty());
    CHECK(load_status("cushim-sim-image 1\nglobal fits size=0x1000000") == good);
}

TEST_CASE("options of the just-in-time compiler are checked") {
    CUmodule module = nullptr;
    CUjit_option level = CU_JIT_OPTIMIZATION_LEVEL, from_context = CU_JIT_TARGET_FROM_CUCONTEXT;
    CHECK(load_with({{CU_JIT_MAX_REGISTERS, 16}, {CU_JIT_OPTIMIZATION_LEVEL, 4}}) == good);
    check_all(invalid, {load_with({{CU_JIT_NUM_OPTIONS, 0}}),
                        load_with({{static_cast<CUjit_option>(999), 0}}),
                        load_with({{static_cast<CUjit_option>(-1), 0}}),
                        load_with({{CU_JIT_OPTIMIZATION_LEVEL, 5}}),
                        load_with({{CU_JIT_TARGET, 90}, {CU_JIT_THREADS_PER_BLOCK, 64}}),
                        d.cuModuleLoadDataEx(&module, vector_image, 1, nullptr, nullptr),
                        d.cuModuleLoadDataEx(&module, vector_image, 1, &level, nullptr)});
    CHECK(d.cuModuleLoadDataEx(&module, vector_image, 1, &from_context, nullptr) == good);
    destroy(module);
}

TEST_CASE("logs are cut to fit the buffers of the client") {
    char info[256], error[16];
    std::memset(info, 'x', sizeof info);
    std::memset(error, 'x', sizeof error);
    const auto place = [](char *log) { return reinterpret_cast<std::uintptr_t>(log); };
    const auto load = [&](const char *image, std::size_t error_size) {
        JitOptions options{{CU_JIT_INFO_LOG_BUFFER, place(info)},
                           {CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, sizeof info},
                           {CU_JIT_ERROR_LOG_BUFFER, place(error)},
                           {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, error_size},
                           {CU_JIT_LOG_VERBOSE, 1},
                           {CU_JIT_WALL_TIME, 0}};
        CUmodule module = nullptr;
        const CUresult status = d.cuModuleLoadDataEx(&module, image, options.count(),
                                                     options.names.data(), options.values.data());
        if (status == good) {
            destroy(module);
            float wall_time = -1;
            std::memcpy(&wall_time, &options.values[5], sizeof wall_time);
            CHECK(wall_time >= 0);
            CHECK(reinterpret_cast<std::uintptr_t>(options.values[1]) == std::strlen(info));
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

TEST_CASE("the option for the number of registers sets the attribute of the functions") {
    JitOptions options{{CU_JIT_MAX_REGISTERS, 24}};
    CUmodule module = nullptr;
    REQUIRE(d.cuModuleLoadDataEx(&module, vector_image, options.count(), options.names.data(),
                                 options.values.data()) == good);
    CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS,
                   function_of(module, "mixed")) == 24);
    destroy(module);
}

TEST_CASE("attributes of a function can be read and set") {
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
    CHECK(set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50) == good);
    int value = 0;
    check_all(invalid, {set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most),
                        set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1),
                        set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
                        set(CU_FUNC_ATTRIBUTE_NUM_REGS, 1), set(99, 1),
                        d.cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(99), mixed),
                        d.cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, mixed),
                        d.cuFuncSetCacheConfig(mixed, static_cast<CUfunc_cache>(9))});
    CHECK(d.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);
    CHECK(d.cuFuncSetCacheConfig(mixed, CU_FUNC_CACHE_PREFER_L1) == good);
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
TEST_CASE("functions report their name, parameters and loading state") {
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
    // Past the last parameter the call fails and leaves the outputs unchanged.
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
