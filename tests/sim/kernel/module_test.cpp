// Modules: loading, functions and variables, lifetime.
#include "base/checks.hpp"
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

// Loads the image with these options and unloads it.
CUresult load_with(JitOptions &options, const char *image) {
    CUmodule module = nullptr;
    const CUresult status = driver().cuModuleLoadDataEx(
        &module, image, options.count(), options.names.data(), options.values.data());
    if (status == CUDA_SUCCESS) {
        destroy(module);
    }
    return status;
}
CUresult load_with(JitOptions &&options) {
    return load_with(options, vector_image);
}

} // namespace

TEST_CASE("loading a module needs a context, unloading does not") {
    CUmodule module = nullptr;
    const CUmodule loaded = load_module(vector_image);
    CHECK(leaks().size() == 1);
    pop_current();
    check_all(CUDA_ERROR_INVALID_CONTEXT,
              {driver().cuModuleLoadDataEx(&module, vector_image, 0, nullptr, nullptr),
               driver().cuModuleLoadFatBinary(&module, vector_image),
               driver().cuModuleLoad(&module, "/nowhere")});
    destroy(loaded);
    CHECK(leaks().empty());
}

TEST_CASE("a module can be loaded from a file") {
    CUmodule module = nullptr;
    const TemporaryFile valid(vector_image), bad("garbage"), empty(""),
        cut("\x7f"
            "ELF\x02\x01\x01");
    const auto load = [&](const std::string &path) {
        return driver().cuModuleLoad(&module, path.c_str());
    };
    ok(load(valid.path()));
    destroy(module);
    check_all(CUDA_ERROR_INVALID_IMAGE, {load(bad.path()), load(empty.path()), load(cut.path())});
    CHECK(load(std::filesystem::temp_directory_path().string()) == CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_CASE("null arguments of calls for kernels are refused") {
    const LoadedModule module;
    const CUfunction add = module.function("add");
    CUmodule loaded = nullptr;
    CUdeviceptr address = 0;
    std::size_t size = 0;
    int grid = 0, block = 0;
    CUtexObject object = 0;
    const CUDA_RESOURCE_DESC resource{};
    const CUDA_TEXTURE_DESC texture{};
    check_all(invalid,
              {driver().cuModuleGetFunction(nullptr, module, "add"),
               driver().cuModuleGetGlobal(&address, &size, module, nullptr),
               driver().cuModuleLoad(&loaded, nullptr),
               driver().cuLinkCreate(0, nullptr, nullptr, nullptr),
               driver().cuParamSetv(add, 0, nullptr, 8),
               driver().cuTexObjectCreate(&object, nullptr, &texture, nullptr),
               driver().cuTexObjectCreate(nullptr, &resource, &texture, nullptr),
               driver().cuOccupancyMaxPotentialBlockSize(&grid, nullptr, add, nullptr, 0, 0),
               driver().cuOccupancyMaxPotentialBlockSize(nullptr, &block, add, nullptr, 0, 0)});
#if CUDA_VERSION >= 12000
    CUlibrary library = nullptr;
    check_all(invalid, {driver().cuLibraryLoadFromFile(&library, nullptr, nullptr, nullptr, 0,
                                                       nullptr, nullptr, 0),
                        driver().cuLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr,
                                                   nullptr, 0)});
#endif
}

TEST_CASE("global variables of a module are device memory") {
    const LoadedModule module;
    CUdeviceptr buffer = 0;
    std::size_t size = 0;
    CHECK(got(driver().cuModuleGetGlobal(&buffer, &size, module, "buffer"), size) == 4096);
    ok(driver().cuModuleGetGlobal(&buffer, nullptr, module, "buffer"));
    ok(driver().cuModuleGetGlobal(nullptr, &size, module, "buffer"));
    ok(driver().cuMemsetD8(buffer, 7, size));
    unsigned char byte = 0;
    CHECK(got(driver().cuMemcpyDtoH(&byte, buffer + 4095, 1), byte) == 7);
    CHECK(driver().cuMemcpyDtoH(&byte, buffer + 4096, 1) == invalid);
    // The client must not free it.
    check_misuse(driver().cuMemFree(buffer), invalid, "cuMemFree of variable");
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
    check_misuse(driver().cuMemcpyDtoH(&value, counter, 4), invalid, "memory that was freed");
    check_misuse(driver().cuModuleGetFunction(&function, module, "add"), refused,
                 "use of a destroyed module");
    check_misuse(driver().cuModuleUnload(module), refused, "use of a destroyed module");
}

TEST_CASE("resetting a context unloads its modules") {
    const CUmodule module = load_module(vector_image);
    ok(driver().cuDevicePrimaryCtxReset(0));
    CHECK(leaks().empty());
    CUfunction function = nullptr;
    CHECK(driver().cuModuleGetFunction(&function, module, "add") ==
          CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CHECK(driver().cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE); // as measured
}

TEST_CASE("an invalid module handle fails and is reported") {
    const Stream stream;
    CUfunction function = nullptr;
    CUmodule module = nullptr;
    constexpr auto refused = CUDA_ERROR_INVALID_HANDLE;
    check_misuse(
        driver().cuModuleGetFunction(&function, reinterpret_cast<CUmodule>(stream.get()), "add"),
        refused, "a module handle was expected");
    CHECK(driver().cuModuleLoadData(&module, "garbage") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(module != nullptr);
    check_misuse(driver().cuModuleUnload(module), refused, "is not a module handle");
}

TEST_CASE("variables of a module count against the memory budget of the device") {
    start("memory=1GiB;budget=64MiB");
    CHECK(load_status("cushim-sim-image 1\nglobal big size=0x8000000") == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(leaks().empty());
    ok(load_status("cushim-sim-image 1\nglobal fits size=0x1000000"));
}

TEST_CASE("options of the just-in-time compiler are checked") {
    CUmodule module = nullptr;
    CUjit_option level = CU_JIT_OPTIMIZATION_LEVEL, from_context = CU_JIT_TARGET_FROM_CUCONTEXT;
    ok(load_with({{CU_JIT_MAX_REGISTERS, 16}, {CU_JIT_OPTIMIZATION_LEVEL, 4}}));
    check_all(invalid, {load_with({{CU_JIT_OPTIMIZATION_LEVEL, 5}}),
                        load_with({{CU_JIT_TARGET, 90}, {CU_JIT_THREADS_PER_BLOCK, 64}}),
                        driver().cuModuleLoadDataEx(&module, vector_image, 1, nullptr, nullptr),
                        driver().cuModuleLoadDataEx(&module, vector_image, 1, &level, nullptr)});
    ok(driver().cuModuleLoadDataEx(&module, vector_image, 1, &from_context, nullptr));
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
        const CUresult status = load_with(options, image);
        if (status == CUDA_SUCCESS) {
            float wall_time = -1;
            std::memcpy(&wall_time, &options.values[5], sizeof wall_time);
            CHECK(wall_time >= 0);
            CHECK(reinterpret_cast<std::uintptr_t>(options.values[1]) == std::strlen(info));
        }
        return status;
    };
    ok(load(vector_image, sizeof error));
    CHECK(std::string(info).find("Compiling entry function 'add'") != std::string::npos);
    CHECK(error[0] == '\0');
    CHECK(load("garbage that is refused", 8) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(std::strlen(error) == 7);
    CHECK(error[8] == 'x');
    CHECK(load("garbage that is refused", 0) == CUDA_ERROR_INVALID_IMAGE);
}

TEST_CASE("the option for the number of registers sets the attribute of the functions") {
    JitOptions options{{CU_JIT_MAX_REGISTERS, 24}};
    const auto module = got<CUmodule>(&Driver::cuModuleLoadDataEx, out, vector_image,
                                      options.count(), options.names.data(), options.values.data());
    CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS,
                   function_of(module, "mixed")) == 24);
    destroy(module);
}

TEST_CASE("attributes of a function can be read and set") {
    const LoadedModule module;
    const CUfunction mixed = module.function("mixed");
    const auto get = [&](int attribute) {
        return got<int>(&Driver::cuFuncGetAttribute, out,
                        static_cast<CUfunction_attribute>(attribute), mixed);
    };
    const auto set = [&](int attribute, int value) {
        return driver().cuFuncSetAttribute(mixed, static_cast<CUfunction_attribute>(attribute),
                                           value);
    };
    CHECK(get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == (48 << 10) - 1024);
    CHECK(get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) == -1);
    CHECK(get(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA) == 0);
    const auto most = got<int>(&Driver::cuDeviceGetAttribute, out,
                               CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0);
    ok(set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - 1024));
    CHECK(get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == most - 1024);
    ok(set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    CHECK(set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101) == invalid);
#if CUDA_VERSION >= 12000
    ok(set(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    CHECK(get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) == 2);
    CHECK(get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) == 1);
    CHECK(set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2) == invalid);
    const LoadedModule fixed("cushim-sim-image 1\nkernel k cluster=2,1,1");
    CHECK(driver().cuFuncSetAttribute(fixed.function("k"), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
                                      4) == CUDA_ERROR_NOT_PERMITTED);
#endif
}

#if CUDA_VERSION >= 12040
TEST_CASE("a function is loaded when it is looked up or on request") {
    const LoadedModule module;
    CUfunction all[4] = {nullptr, nullptr, nullptr, nullptr};
    ok(driver().cuModuleEnumerateFunctions(all, 4, module));
    CHECK(all[3] == nullptr);
    const auto state = [](CUfunction function) {
        return got<CUfunctionLoadingState>(&Driver::cuFuncIsLoaded, out, function);
    };
    CHECK(state(all[0]) == CU_FUNCTION_LOADING_STATE_UNLOADED);
    ok(driver().cuFuncLoad(all[0]));
    CHECK(state(all[0]) == CU_FUNCTION_LOADING_STATE_LOADED);
    CHECK(state(module.function("nothing")) == CU_FUNCTION_LOADING_STATE_LOADED);
    CHECK(reported(driver().cuModuleGetLoadingMode(nullptr), "into a null pointer") == invalid);
}
#endif
