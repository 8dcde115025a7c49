// Modules and libraries, with their functions and kernels.
#pragma once

#include "engine/object.hpp"
#include "engine/work.hpp"
#include "image/image.hpp"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct CUmod_st;
struct CUfunc_st;
struct CUlib_st;
struct CUkern_st;
struct CUtexref_st;
struct CUsurfref_st;

namespace sim {

// Settings of a function, or of a kernel for one device.
struct FunctionSettings {
    int max_dynamic_shared = -1; // bytes; -1: the default limit
    int carveout = -1;           // percent; -1: the driver's choice
    int cluster[3] = {};         // required; zeros: none
    bool non_portable_cluster = false;
    int cluster_policy = 0;
    int cache_config = 0, shared_config = 0;
};

// A launch in preparation by the API of CUDA before version 4.
struct LegacyLaunch {
    unsigned int block[3] = {1, 1, 1};
    unsigned int shared_bytes = 0;
    std::vector<std::byte> parameters;
};

} // namespace sim

// A function in a context.
struct CUfunc_st final : sim::Object {
    CUfunc_st(CUmod_st &module, const sim::ImageKernel &code, CUkern_st *kernel);
    static constexpr sim::Kind own_kind = sim::Kind::function;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUmod_st *module;
    const sim::ImageKernel &code;
    std::shared_ptr<const sim::Image> image; // keeps `code` alive
    CUkern_st *kernel;                       // its library kernel, or null
    sim::FunctionSettings settings;
    bool own_settings = false; // set by cuFuncSet…; overrides the kernel's settings
    bool loaded = false;
    std::deque<std::weak_ptr<sim::Operation>>
        launches; // newest last; may include completed launches
    sim::LegacyLaunch legacy;
};

struct CUmod_st final : sim::Object {
    CUmod_st(CUctx_st &context, std::shared_ptr<const sim::Image> image, CUlib_st *library);
    ~CUmod_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::module;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::shared_ptr<const sim::Image> image;
    CUlib_st *library; // the library it belongs to, or null
    std::vector<CUfunc_st *> functions;
    std::map<std::string, std::uintptr_t, std::less<>> variables; // device addresses
    std::map<std::string, CUtexref_st *, std::less<>> textures;
    std::map<std::string, CUsurfref_st *, std::less<>> surfaces;
};

struct CUlib_st final : sim::Object {
    explicit CUlib_st(std::shared_ptr<const sim::Image> image);
    ~CUlib_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::library;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::shared_ptr<const sim::Image> image;
    // Why the image, which is empty then, cannot be used: calls that need it fail with this.
    CUresult problem = CUDA_SUCCESS;
    std::vector<CUkern_st *> kernels;
    std::map<CUctx_st *, CUmod_st *> modules; // loaded on first use in each context
    std::map<std::string, std::uintptr_t, std::less<>>
        managed; // device addresses, equal in all contexts
};

struct CUkern_st final : sim::Object {
    CUkern_st(CUlib_st &library, const sim::ImageKernel &code);
    static constexpr sim::Kind own_kind = sim::Kind::kernel;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUlib_st *library;
    const sim::ImageKernel &code;
    std::shared_ptr<const sim::Image> image; // keeps `code` alive
    std::map<CUdevice, sim::FunctionSettings> settings;
};

namespace sim {

using Module = CUmod_st;
using Function = CUfunc_st;
using Library = CUlib_st;
using Kernel = CUkern_st;

class JitOptions;

// Recorded: for most calls, a module that was destroyed with its context is simply invalid.
Module &module_of(CUmodule handle);
// The object behind a CUfunction: a function, or a kernel that was cast to one. Fails for others.
Object &callable(void *handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE);
const ImageKernel &code_of(const Object &callable) noexcept;
std::shared_ptr<const Image> image_of(const Object &callable) noexcept;
// The function in a context. For a kernel: the function in its library's module, which is loaded
// into the context if necessary. A function of another context fails with INVALID_HANDLE.
Function &function_in(Object &callable, CUctx_st &context);
// The function behind a CUfunction; for a kernel, that in the current context.
Function &function_of(CUfunction handle);

// Fails with the status of a problem of an image, and adds its lines to the error log.
[[noreturn]] void refuse_image(CUresult status);
// Reads and checks an image, and writes the outputs of the options. Throws ImageProblem. size: no
// value if only the image can tell.
std::shared_ptr<const Image> compile_image(const void *image, std::optional<std::size_t> size,
                                           JitOptions &options);
// An image for the load calls. Fails with the status of its problem, which the error log explains.
std::shared_ptr<const Image> load_image(const void *image, std::optional<std::size_t> size,
                                        JitOptions &options);
// Loads an image into a context. Fails with NO_BINARY_FOR_GPU if the device cannot run it.
Module &load_module(CUctx_st &context, std::shared_ptr<const Image> image, Library *library);
// Unloads a module and its contents. Waits for the enqueued work of its context; in adversarial
// mode, work that still needs the module is a misuse instead.
void unload_module(Module &module);
Module &library_module(Library &library, CUctx_st &context);

// The settings that apply to a launch.
const FunctionSettings &settings_of(const Function &function);
FunctionSettings &settings_of(Kernel &kernel, CUdevice device);
// Limits determined by code, settings and device.
int max_threads_of(const ImageKernel &code, CUdevice device);
int max_dynamic_shared_of(const ImageKernel &code, const FunctionSettings &settings,
                          CUdevice device);

// A device attribute, or `otherwise` if this driver does not know it.
int attribute_or(CUdevice device, int attribute, int otherwise);
int compute_capability(CUdevice device); // 90 for 9.0
// Whether functions are loaded lazily: the default, which CUDA_MODULE_LOADING can change.
bool loads_lazily();
// Sets the outputs of cuModuleGetGlobal and similar calls; both may be null.
void give_variable(std::uintptr_t address, CUdeviceptr *dptr, std::size_t *bytes);

} // namespace sim
