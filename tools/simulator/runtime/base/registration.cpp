// Functions that nvcc's host code calls: __cudaRegisterFatBinary and related ones. Images of device
// code load as in the driver, which runs no device code; images in the simulator's text form work
// too.
#include "runtime/base/registration.hpp"
#include "runtime/base/driver_api.hpp"
#include "runtime/base/locks.hpp"

#include "driver/base/immortal.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sim::runtime {
namespace {

// The wrapper that nvcc puts around an image.
struct FatBinary {
    int magic;
    int version;
    const void *data;
    void *more;
};
constexpr int fat_binary_magic = 0x466243b1;

#if CUDART_VERSION >= 12000
using Loaded = CUlibrary;
#else
using Loaded = CUmodule;
#endif

struct Image {
    const void *data = nullptr;
    std::uint64_t epoch = 0;
    // A library serves all contexts; a module serves one.
    std::unordered_map<CUcontext, Loaded> loaded;
    // The context whose managed variables the host uses, since it has one pointer for all devices.
    std::optional<CUcontext> host_copy;
    void *handle = nullptr; // its address is the handle that the program gets
    // Host addresses of its names in the maps of Registrations.
    std::vector<const void *> functions, variables, managed;
};

struct Named {
    Image *image;
    std::string name;
};

using Names = std::unordered_map<const void *, Named>;

const Named *find(const Names &in, const void *host) {
    const auto found = in.find(host);
    return found == in.end() ? nullptr : &found->second;
}

// Guarded by Locks::registrations.
struct Registrations {
    std::unordered_map<void **, std::unique_ptr<Image>> images; // by handle
    Names functions, variables;                                 // by host address
    Names managed; // by the address of the host pointer to it
};

Registrations &registrations() {
    static Immortal<Registrations> all;
    return *all;
}

struct Place {
    CUdeviceptr address = 0;
    size_t size = 0; // bytes
};

cudaError_t find_managed(Place &place, Loaded in, const std::string &name) {
#if CUDART_VERSION >= 12000
    return CU(cuLibraryGetManaged)(&place.address, &place.size, in, name.c_str());
#else
    return CU(cuModuleGetGlobal_v2)(&place.address, &place.size, in, name.c_str());
#endif
}

// Sets the host's pointers to managed variables. A pointer whose variable is missing stays null.
void point_at_managed(const Image &image, Loaded in) {
    for (const void *host : image.managed) {
        Place place;
        const Named *named = find(registrations().managed, host);
        if (named != nullptr && named->image == &image &&
            find_managed(place, in, named->name) == cudaSuccess) {
            *static_cast<void **>(const_cast<void *>(host)) = pointer(place.address);
        }
    }
}

Loaded load_data(const void *data) {
    Loaded made{};
#if CUDART_VERSION >= 12000
    demand(CU(cuLibraryLoadData)(&made, data, nullptr, nullptr, 0, nullptr, nullptr, 0));
#else
    demand(CU(cuModuleLoadData)(&made, data));
#endif
    driver_hooks()->keep_for_runtime(made);
    return made;
}

// The caller holds the lock, also during driver calls, which do not call this library.
Loaded load(Image &image) {
    if (const std::uint64_t now = epoch(); image.epoch != now) {
        image.loaded.clear();
        image.host_copy.reset();
        image.epoch = now;
    }
#if CUDART_VERSION >= 12000
    CUcontext owner = nullptr;
#else
    CUcontext owner = current_context();
#endif
    auto found = image.loaded.find(owner);
    if (found == image.loaded.end()) {
        found = image.loaded.emplace(owner, load_data(image.data)).first;
    }
    if (!image.host_copy) {
        point_at_managed(image, found->second);
        image.host_copy = owner;
    }
    return found->second;
}

// Loads the image where its managed variables are, for all devices.
Loaded load_managed(Image &image) {
    load(image);
    return image.loaded.at(*image.host_copy);
}

// Without the lock: the driver treats these as client calls and may run client callbacks for
// errors.
void unload(Image &image) {
    if (image.epoch != epoch()) {
        return;
    }
    for (const auto &[context, loaded] : image.loaded) {
#if CUDART_VERSION >= 12000
        (void)CU_ANY(cuLibraryUnload)(loaded);
#else
        (void)CU_ANY(cuModuleUnload)(loaded);
#endif
    }
}

Image *image_of(void **handle) {
    const auto found = registrations().images.find(handle);
    return found == registrations().images.end() ? nullptr : found->second.get();
}

// The symbol of a managed variable is the address in the host's pointer, or the pointer itself
// before it is set.
const Named *managed_symbol(const void *symbol) {
    if (const Named *named = find(registrations().managed, symbol)) {
        return named;
    }
    for (const auto &[host, named] : registrations().managed) {
        if (*static_cast<void *const *>(host) == symbol) {
            return &named;
        }
    }
    return nullptr;
}

// The host's pointer to a managed variable of the image, or null.
const void *managed_of(void **handle) {
    const std::lock_guard<std::mutex> held(locks().registrations);
    const Image *image = image_of(handle);
    return image == nullptr || image->managed.empty() ? nullptr : image->managed.front();
}

void forget(Names &names, const Image *image, const std::vector<const void *> &hosts) {
    for (const void *host : hosts) {
        const auto found = names.find(host);
        if (found != names.end() && found->second.image == image) { // no other took its place
            names.erase(found);
        }
    }
}

// Removes an image and all names registered for it.
std::unique_ptr<Image> take_image(void **handle) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    const auto found = all.images.find(handle);
    if (found == all.images.end()) {
        return nullptr;
    }
    std::unique_ptr<Image> image = std::move(found->second);
    all.images.erase(found);
    forget(all.functions, image.get(), image->functions);
    forget(all.variables, image.get(), image->variables);
    forget(all.managed, image.get(), image->managed);
    return image;
}

// The configuration of a launch between <<<…>>> and its stub, and those of enclosing launches.
// Trivially destroyed: destructors of other thread-local objects may launch kernels.
struct Configuration {
    dim3 grid, block;
    size_t shared;
    void *stream;
    Configuration *outer;
};
constinit thread_local Configuration *innermost = nullptr;

} // namespace

#if CUDART_VERSION >= 12000
CUkernel registered_kernel(const void *host) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    const Named *named = find(all.functions, host);
    CUkernel kernel = nullptr;
    if (named != nullptr) {
        demand(CU(cuLibraryGetKernel)(&kernel, load(*named->image), named->name.c_str()));
    }
    return kernel;
}

CUfunction registered_function(const void *host) {
    const CUkernel kernel = registered_kernel(host);
    CUfunction function = nullptr;
    if (kernel != nullptr) {
        demand(CU(cuKernelGetFunction)(&function, kernel));
    }
    return function;
}
#else
CUfunction registered_function(const void *host) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    const Named *named = find(all.functions, host);
    CUfunction function = nullptr;
    if (named != nullptr) {
        demand(CU(cuModuleGetFunction)(&function, load(*named->image), named->name.c_str()));
    }
    return function;
}
#endif

bool is_registered_function(const void *host) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    return find(all.functions, host) != nullptr;
}

const void *registered_host(CUfunction function) {
    std::vector<const void *> hosts;
    {
        const std::lock_guard<std::mutex> held(locks().registrations);
        for (const auto &[host, named] : registrations().functions) {
            hosts.push_back(host);
        }
    }
    for (const void *host : hosts) {
        try {
            if (registered_function(host) == function) {
                return host;
            }
        } catch (const Failure &) {
            // The image does not contain the kernel.
        }
    }
    return nullptr;
}

bool registered_variable(const void *host, CUdeviceptr &address, size_t &size) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    const Named *named = find(all.variables, host);
    if (named == nullptr) {
        const Named *managed = managed_symbol(host);
        if (managed == nullptr) {
            return false;
        }
        Place place;
        demand(find_managed(place, load_managed(*managed->image), managed->name));
        address = place.address;
        size = place.size;
        return true;
    }
#if CUDART_VERSION >= 12000
    demand(CU(cuLibraryGetGlobal)(&address, &size, load(*named->image), named->name.c_str()));
#else
    demand(CU(cuModuleGetGlobal_v2)(&address, &size, load(*named->image), named->name.c_str()));
#endif
    return true;
}

// Libraries outlive a context.
void forget_loaded([[maybe_unused]] CUcontext context) {
#if CUDART_VERSION < 12000
    const std::lock_guard<std::mutex> held(locks().registrations);
    for (const auto &[handle, image] : registrations().images) {
        image->loaded.erase(context);
        if (image->host_copy == context) {
            image->host_copy.reset();
        }
    }
#endif
}

} // namespace sim::runtime

// --- functions that compiled code calls; no header declares them

#ifdef _WIN32
#define SIM_REGISTRATION extern "C" __declspec(dllexport)
#else
#define SIM_REGISTRATION extern "C" __attribute__((visibility("default")))
#endif

using namespace sim::runtime;

SIM_REGISTRATION void **__cudaRegisterFatBinary(void *fatCubin);
SIM_REGISTRATION void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
SIM_REGISTRATION void __cudaUnregisterFatBinary(void **fatCubinHandle);
SIM_REGISTRATION void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun,
                                             char *deviceFun, const char *deviceName,
                                             int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim,
                                             dim3 *gDim, int *wSize);
SIM_REGISTRATION void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
                                        const char *deviceName, int ext, size_t size, int constant,
                                        int global);
SIM_REGISTRATION void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
                                               char *deviceAddress, const char *deviceName, int ext,
                                               size_t size, int constant, int global);
SIM_REGISTRATION void __cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName,
                                            void *hostVar, size_t size);
#if CUDART_VERSION >= 12000
SIM_REGISTRATION void __cudaRegisterUnifiedTable(void **fatCubinHandle, void *first, void *second,
                                                 void *third, void *fourth);
#else
SIM_REGISTRATION void __cudaRegisterTexture(void **fatCubinHandle, const textureReference *hostVar,
                                            const void **deviceAddress, const char *deviceName,
                                            int dim, int norm, int ext);
SIM_REGISTRATION void __cudaRegisterSurface(void **fatCubinHandle, const surfaceReference *hostVar,
                                            const void **deviceAddress, const char *deviceName,
                                            int dim, int ext);
#endif
SIM_REGISTRATION unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                                      void *stream);
SIM_REGISTRATION cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim,
                                                        size_t *sharedMem, void *stream);
SIM_REGISTRATION char __cudaInitModule(void **fatCubinHandle);
#if CUDART_VERSION >= 12010
SIM_REGISTRATION cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *hostFun);
SIM_REGISTRATION cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
                                                void **args, size_t sharedMem, cudaStream_t stream);
SIM_REGISTRATION cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim,
                                                     dim3 blockDim, void **args, size_t sharedMem,
                                                     cudaStream_t stream);
#endif

void **__cudaRegisterFatBinary(void *fatCubin) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    auto image = std::make_unique<Image>();
    const auto *wrapper = static_cast<const FatBinary *>(fatCubin);
    image->data = wrapper && wrapper->magic == fat_binary_magic ? wrapper->data : fatCubin;
    void **const handle = &image->handle;
    all.images.emplace(handle, std::move(image));
    return handle;
}

void __cudaRegisterFatBinaryEnd(void **) {}

void __cudaUnregisterFatBinary(void **fatCubinHandle) {
    if (const std::unique_ptr<Image> image = take_image(fatCubinHandle)) {
        unload(*image);
    }
}

void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *,
                            const char *deviceName, int, uint3 *, uint3 *, dim3 *, dim3 *, int *) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    if (Image *image = image_of(fatCubinHandle)) {
        all.functions[hostFun] = {image, deviceName};
        image->functions.push_back(hostFun);
    }
}

void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *, const char *deviceName, int,
                       size_t, int, int) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    if (Image *image = image_of(fatCubinHandle)) {
        all.variables[hostVar] = {image, deviceName};
        image->variables.push_back(hostVar);
    }
}

void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *,
                              const char *deviceName, int, size_t, int, int) {
    Registrations &all = registrations();
    const std::lock_guard<std::mutex> held(locks().registrations);
    if (Image *image = image_of(fatCubinHandle)) {
        all.managed[hostVarPtrAddress] = {image, deviceName};
        image->managed.push_back(hostVarPtrAddress);
    }
}

// Host variables of device code; host functions of kernels do not use them.
void __cudaRegisterHostVar(void **, const char *, void *, size_t) {}
#if CUDART_VERSION >= 12000
void __cudaRegisterUnifiedTable(void **, void *, void *, void *, void *) {}
#else
void __cudaRegisterTexture(void **, const textureReference *, const void **, const char *, int, int,
                           int) {}
void __cudaRegisterSurface(void **, const surfaceReference *, const void **, const char *, int,
                           int) {}
#endif

unsigned __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, void *stream) {
    innermost = new Configuration{gridDim, blockDim, sharedMem, stream, innermost};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
                                       void *stream) {
    const std::unique_ptr<const Configuration> last(innermost);
    if (last == nullptr) {
        return cudaErrorMissingConfiguration;
    }
    innermost = last->outer;
    *gridDim = last->grid;
    *blockDim = last->block;
    *sharedMem = last->shared;
    *static_cast<void **>(stream) = last->stream;
    return cudaSuccess;
}

// Called before the host first uses a managed variable: loading the image creates all of them.
char __cudaInitModule(void **fatCubinHandle) {
    void *address = nullptr;
    const void *managed = managed_of(fatCubinHandle);
    return managed == nullptr || ::cudaGetSymbolAddress(&address, managed) == cudaSuccess ? 1 : 0;
}

#if CUDART_VERSION >= 12010
// nvcc's code ignores the status and launches the null handle that it passed.
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *hostFun) {
    cudaKernel_t found = nullptr;
    const cudaError_t status = ::cudaGetKernel(&found, hostFun);
    if (status == cudaSuccess) {
        *kernel = found;
    }
    return status;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                               size_t sharedMem, cudaStream_t stream) {
    return ::cudaLaunchKernel(kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
                                    size_t sharedMem, cudaStream_t stream) {
    return ::cudaLaunchKernel(kernel, gridDim, blockDim, args, sharedMem,
                              stream != nullptr ? stream : cudaStreamPerThread);
}
#endif
