// Modules, libraries, and the functions and kernels in them.
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

// What the client may set of a function, or of a kernel for one device.
struct FunctionSettings {
    int max_dynamic_shared = -1; // bytes; -1: what fits without asking
    int carveout = -1;           // percent; -1: the driver's choice
    int cluster[3] = {};         // required; zeros: none
    bool non_portable_cluster = false;
    int cluster_policy = 0;
    int cache_config = 0, shared_config = 0;
};

// The launch that the functions of before CUDA 4 put together call by call.
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
    std::shared_ptr<const sim::Image> image; // keeps `code`
    CUkern_st *kernel;                       // of a library, or null
    sim::FunctionSettings settings;
    bool own_settings = false; // set by cuFuncSet…, which wins over what the kernel has
    bool loaded = false;
    std::deque<std::weak_ptr<sim::Operation>> launches; // newest last; some of them done
    sim::LegacyLaunch legacy;
};

struct CUmod_st final : sim::Object {
    CUmod_st(CUctx_st &context, std::shared_ptr<const sim::Image> image, CUlib_st *library);
    ~CUmod_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::module;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::shared_ptr<const sim::Image> image;
    CUlib_st *library; // of which it is a part, or null
    std::vector<CUfunc_st *> functions;
    std::map<std::string, std::uintptr_t, std::less<>> variables; // their addresses
    std::map<std::string, CUtexref_st *, std::less<>> textures;
    std::map<std::string, CUsurfref_st *, std::less<>> surfaces;
};

struct CUlib_st final : sim::Object {
    explicit CUlib_st(std::shared_ptr<const sim::Image> image);
    ~CUlib_st() override;
    static constexpr sim::Kind own_kind = sim::Kind::library;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    std::shared_ptr<const sim::Image> image;
    std::vector<CUkern_st *> kernels;
    std::map<CUctx_st *, CUmod_st *> modules; // in the contexts where it was needed
    std::map<std::string, std::uintptr_t, std::less<>>
        managed; // addresses; the same in all contexts
};

struct CUkern_st final : sim::Object {
    CUkern_st(CUlib_st &library, const sim::ImageKernel &code);
    static constexpr sim::Kind own_kind = sim::Kind::kernel;
    static bool is(sim::Kind kind) noexcept { return kind == own_kind; }

    CUlib_st *library;
    const sim::ImageKernel &code;
    std::shared_ptr<const sim::Image> image; // keeps `code`
    std::map<CUdevice, sim::FunctionSettings> settings;
};

namespace sim {

using Module = CUmod_st;
using Function = CUfunc_st;
using Library = CUlib_st;
using Kernel = CUkern_st;

class JitOptions;

// The object behind a CUfunction: a function, or a kernel that was cast to one. Refuses others.
Object &callable(void *handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE);
const ImageKernel &code_of(const Object &callable) noexcept;
std::shared_ptr<const Image> image_of(const Object &callable) noexcept;
// The function in a context: of a kernel, the one in its library's module there, which is loaded
// where it is not yet; a function of another context is refused with INVALID_HANDLE.
Function &function_in(Object &callable, CUctx_st &context);
// The function behind a CUfunction, a kernel's in the current context.
Function &function_of(CUfunction handle);

// An image as the load calls take it; refuses with its problem, which goes to the error log, too.
// size: nothing where only the image can tell.
std::shared_ptr<const Image> load_image(const void *image, std::optional<std::size_t> size,
                                        JitOptions &options);
// Loads an image into a context. Refuses with NO_BINARY_FOR_GPU what its device cannot run.
Module &load_module(CUctx_st &context, std::shared_ptr<const Image> image, Library *library);
// Ends a module and all that is in it; waits for work that is queued in its context, but for the
// adversarial mode, where work that comes too late is a misuse.
void unload_module(Module &module);
Module &library_module(Library &library, CUctx_st &context);

// The settings that hold for a launch on a device.
const FunctionSettings &settings_of(const Function &function);
FunctionSettings &settings_of(Kernel &kernel, CUdevice device);
// Limits that follow from code, settings and device.
int max_threads_of(const ImageKernel &code, CUdevice device);
int max_dynamic_shared_of(const ImageKernel &code, const FunctionSettings &settings,
                          CUdevice device);

// The threads, registers and shared memory of blocks that one multiprocessor holds at the same
// time: how many blocks. block_size: threads, at least 1.
int active_blocks(const ImageKernel &code, const FunctionSettings &settings, CUdevice device,
                  unsigned int block_size, std::size_t dynamic_shared);
// A device attribute, or another value where this driver does not know it.
int attribute_or(CUdevice device, int attribute, int otherwise);
int compute_capability(CUdevice device); // 90 for 9.0
// Whether functions are loaded when they are needed: the default, which the environment can change.
bool loads_lazily();
// What cuModuleGetGlobal and its like give back; both outputs may be null.
void give_variable(std::uintptr_t address, CUdeviceptr *dptr, std::size_t *bytes);

} // namespace sim
