#include "kernel/module.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"
#include "engine/memory.hpp"
#include "engine/work.hpp"
#include "image/jit_options.hpp"
#include "kernel/texture.hpp"

#include <algorithm>
#include <cstring>

CUfunc_st::CUfunc_st(CUmod_st &owner, const sim::ImageKernel &kernel_code, CUkern_st *of_library)
    : Object(own_kind), module(&owner), code(kernel_code), image(owner.image), kernel(of_library) {
    context = owner.context;
    counted = false;
}

CUmod_st::CUmod_st(CUctx_st &owner, std::shared_ptr<const sim::Image> code, CUlib_st *of_library)
    : Object(own_kind), image(std::move(code)), library(of_library) {
    context = &owner;
    counted = of_library == nullptr;
}

// Functions and references of the module are bound to the same context; if only the module is
// unloaded, they are destroyed first.
CUmod_st::~CUmod_st() {
    for (const auto &[name, address] : variables) {
        if (sim::Range *range = sim::AddressSpace::get().find_base(address)) {
            sim::AddressSpace::get().remove(*range);
        }
    }
    if (library != nullptr && sim::Registry::get().find(library) == library) {
        library->modules.erase(context);
    }
}

CUlib_st::CUlib_st(std::shared_ptr<const sim::Image> code)
    : Object(own_kind), image(std::move(code)) {}

CUlib_st::~CUlib_st() {
    for (const auto &[name, address] : managed) {
        if (sim::Range *range = sim::AddressSpace::get().find_base(address)) {
            sim::AddressSpace::get().remove(*range);
        }
    }
}

CUkern_st::CUkern_st(CUlib_st &owner, const sim::ImageKernel &kernel_code)
    : Object(own_kind), library(&owner), code(kernel_code), image(owner.image) {
    counted = false;
}

namespace sim {
namespace {

void fill(Range &range, const ImageVariable &variable) {
    range.counted = false;
    std::memset(range.view, 0, range.size);
    if (!variable.initial.empty()) {
        std::memcpy(range.view, variable.initial.data(),
                    std::min(variable.initial.size(), range.size));
    }
}

std::uintptr_t make_variable(const ImageVariable &variable, CUctx_st *context, int device) {
    Range &range = variable.kind == ImageVariable::Kind::managed
                       ? allocate_on_host(Memory::managed, device, variable.size, context, true)
                       : allocate(Memory::global, device, variable.size, context, false);
    fill(range, variable);
    return range.base;
}

// State shared by a library's managed variables is created with its first module.
std::uintptr_t managed_of(Library &library, const ImageVariable &variable, int device) {
    const auto found = library.managed.find(variable.name);
    if (found != library.managed.end()) {
        return found->second;
    }
    const std::uintptr_t address = make_variable(variable, nullptr, device);
    library.managed.emplace(variable.name, address);
    return address;
}

void fill_module(Module &module) {
    Context &context = *module.context;
    for (std::size_t i = 0; i < module.image->kernels.size(); ++i) {
        Kernel *kernel = module.library ? module.library->kernels[i] : nullptr;
        module.functions.push_back(
            Registry::get().make<Function>(module, module.image->kernels[i], kernel));
    }
    for (const ImageVariable &variable : module.image->variables) {
        if (module.library != nullptr && variable.kind == ImageVariable::Kind::managed) {
            managed_of(*module.library, variable, context.device);
        } else {
            module.variables.emplace(variable.name,
                                     make_variable(variable, &context, context.device));
        }
    }
    for (const std::string &name : module.image->textures) {
        module.textures.emplace(name, Registry::get().make<TextureReference>(context, &module));
    }
    for (const std::string &name : module.image->surfaces) {
        module.surfaces.emplace(name, Registry::get().make<SurfaceReference>(context, &module));
    }
}

void end_module(Module &module) {
    Registry &registry = Registry::get();
    for (Function *function : module.functions) {
        registry.destroy(function);
    }
    for (const auto &[name, texture] : module.textures) {
        registry.destroy(texture);
    }
    for (const auto &[name, surface] : module.surfaces) {
        registry.destroy(surface);
    }
    registry.destroy(&module);
}

std::vector<Ticket> queued_launches(const Module &module) {
    std::vector<Ticket> queued;
    for (const Function *function : module.functions) {
        for (const auto &launch : function->launches) {
            Ticket ticket = launch.lock();
            if (ticket && !ticket->done) {
                queued.push_back(std::move(ticket));
            }
        }
    }
    return queued;
}

void describe_compilation(const Image &image, JitOptions &options) {
    const std::string target = std::to_string(compute_capability(current_device()));
    for (const ImageKernel &kernel : image.kernels) {
        options.info("ptxas info    : Compiling entry function '" + kernel.name + "' for 'sm_" +
                     target + "'");
        options.info("ptxas info    : Used " + std::to_string(kernel.registers) + " registers, " +
                     std::to_string(kernel.shared) + " bytes smem");
    }
}

} // namespace

Object &callable(void *handle, CUresult otherwise) {
    require(handle != nullptr, otherwise);
    Object *object = Registry::get().find(handle);
    if (object == nullptr || (object->kind != Kind::function && object->kind != Kind::kernel)) {
        // Recorded: so is a function that was destroyed with its context.
        refuse(Registry::get().refusal(handle, Kind::function, otherwise, otherwise));
    }
    return *object;
}

const ImageKernel &code_of(const Object &object) noexcept {
    return object.kind == Kind::kernel ? static_cast<const Kernel &>(object).code
                                       : static_cast<const Function &>(object).code;
}

std::shared_ptr<const Image> image_of(const Object &object) noexcept {
    return object.kind == Kind::kernel ? static_cast<const Kernel &>(object).image
                                       : static_cast<const Function &>(object).image;
}

Function &function_in(Object &object, CUctx_st &context) {
    if (object.kind == Kind::function) {
        auto &function = static_cast<Function &>(object);
        if (function.context != &context) {
            misuse(function.describe() + " is used in another context");
            refuse(CUDA_ERROR_INVALID_HANDLE,
                   "CUDA Stream must be associated with the same CUDA Context that loaded "
                   "CUFunction %s",
                   function.code.name.c_str());
        }
        return function;
    }
    auto &kernel = static_cast<Kernel &>(object);
    Module &module = library_module(*kernel.library, context);
    const auto index = static_cast<std::size_t>(&kernel.code - kernel.image->kernels.data());
    return *module.functions[index];
}

Function &function_of(CUfunction handle) {
    Object &object = callable(handle);
    return function_in(object, object.kind == Kind::kernel ? current_context() : *object.context);
}

void refuse_image(CUresult status) {
    const bool compiled =
        status == CUDA_ERROR_INVALID_PTX || status == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    explain("%s, to get more information when using CUDA Driver APIs use the "
            "CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES parameters",
            compiled ? "JIT compilation failed" : "Error handling fatbinary");
    explain("No device code available for GPU ISA %d", compute_capability(current_device()));
    refuse(status);
}

std::shared_ptr<const Image> compile_image(const void *image, std::optional<std::size_t> size,
                                           JitOptions &options) {
    try {
        Image read = read_image(image, size, compute_capability(current_device()));
        if (!read.unresolved.empty()) {
            throw ImageProblem{CUDA_ERROR_INVALID_PTX,
                               "ptxas fatal   : Unresolved extern function '" +
                                   read.unresolved.front() + "'"};
        }
        if (options.max_registers() != 0 && read.binary_cc == 0) {
            for (ImageKernel &kernel : read.kernels) {
                kernel.registers = std::min(kernel.registers, options.max_registers());
            }
        }
        if (options.verbose() && read.binary_cc == 0) {
            describe_compilation(read, options);
        }
        options.write_outputs();
        read.sort_names();
        return std::make_shared<const Image>(std::move(read));
    } catch (const ImageProblem &problem) {
        options.error(problem.text);
        options.write_outputs();
        throw;
    }
}

std::shared_ptr<const Image> load_image(const void *image, std::optional<std::size_t> size,
                                        JitOptions &options) {
    require(image != nullptr, "image cannot be NULL");
    try {
        return compile_image(image, size, options);
    } catch (const ImageProblem &problem) {
        refuse_image(problem.status);
    }
}

Module &load_module(CUctx_st &context, std::shared_ptr<const Image> image, Library *library) {
    require(image->fits(compute_capability(context.device)), CUDA_ERROR_NO_BINARY_FOR_GPU);
    auto *module = Registry::get().make<Module>(context, std::move(image), library);
    try {
        fill_module(*module);
    } catch (...) { // no memory for the variables
        end_module(*module);
        throw;
    }
    if (library != nullptr) {
        library->modules[&context] = module;
    }
    return *module;
}

void unload_module(Module &module) {
    const std::vector<Ticket> queued = queued_launches(module);
    if (!queued.empty() && settings().mode == Mode::adversarial) {
        misuse(module.describe() + " is unloaded while enqueued launches need it");
    } else {
        for (const Ticket &launch : queued) {
            wait(launch);
        }
    }
    if (Registry::get().find(&module) != &module) {
        return; // unloaded by another thread during the wait
    }
    end_module(module);
}

Module &library_module(Library &library, CUctx_st &context) {
    const auto found = library.modules.find(&context);
    return found != library.modules.end() ? *found->second
                                          : load_module(context, library.image, &library);
}

const FunctionSettings &settings_of(const Function &function) {
    return function.kernel == nullptr || function.own_settings
               ? function.settings
               : settings_of(*function.kernel, function.context->device);
}

FunctionSettings &settings_of(Kernel &kernel, CUdevice device) {
    return kernel.settings[device];
}

int attribute_or(CUdevice device, int attribute, int otherwise) {
    try {
        return device_attribute(device, static_cast<CUdevice_attribute>(attribute));
    } catch (const Refusal &) {
        return otherwise;
    }
}

int compute_capability(CUdevice device) {
    return device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           device_attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

bool loads_lazily() {
    return platform::environment("CUDA_MODULE_LOADING") != "EAGER";
}

int max_threads_of(const ImageKernel &code, CUdevice device) {
    const int limit = attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024);
    const int registers = attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536);
    // A warp gets registers in units of 256; they are allocated for four warps at a time.
    const int per_warp = std::max(1, (code.registers * 32 + 255) / 256 * 256);
    const int by_registers = registers / per_warp / 4 * 4 * 32;
    return std::min({limit, code.max_threads, by_registers});
}

int max_dynamic_shared_of(const ImageKernel &code, const FunctionSettings &settings,
                          CUdevice device) {
    const int plain =
        attribute_or(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 48 << 10);
    return settings.max_dynamic_shared >= 0 ? settings.max_dynamic_shared
                                            : std::max(0, plain - code.shared);
}

} // namespace sim
