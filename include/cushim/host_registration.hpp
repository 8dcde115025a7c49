/* Temporarily pins host memory that the caller owns. */
#ifndef CUSHIM_HOST_REGISTRATION_HPP
#define CUSHIM_HOST_REGISTRATION_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/detail/host_memory.hpp>
#include <cushim/device_span.hpp>
#include <cushim/stream.hpp>

namespace cushim {

// How HostRegistration pins memory.
struct RegistrationOptions {
    // Pinned for the devices of all contexts. Always the case if host and devices share one address
    // space, as on all 64-bit systems.
    bool portable = false;
    // Kernels can access the memory, not only copies.
    bool mapped = true;
    // Devices only read it: required for memory that the process itself may only read. The elements
    // must be const. Fails with not_supported_by_device if
    // CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED is 0.
    bool read_only = false;
};

/* Pins memory of the caller, such as that of a std::vector, until the registration is destroyed.
 *
 *     std::vector<float> values(1000);
 *     CUSHIM_TRY(auto pinned, HostRegistration<float>::create(context, values));
 *     CUSHIM_TRY_VOID(copy(stream, buffer.span(), pinned.host_span()));
 *
 * The memory must outlive the registration and keep its address. It is unpinned immediately on
 * destruction. Before that, all work that uses it must have completed, or its stream must have been
 * passed to release_after(). HostRegistration<const T> is for read-only memory. A
 * registration of 0 elements is valid, and makes no CUDA call. Any alignment is valid.
 *
 * Threads and context: see handle.hpp.
 * Errors: invalid_argument for elements at address 0; out_of_memory;
 * CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712) if part of the memory is already registered.
 * cuMemHostRegister_v2, cuMemHostGetDevicePointer_v2, cuMemHostUnregister. */
template <DeviceType T>
class HostRegistration : public detail::HostMemory {
  public:
    HostRegistration() noexcept = default;

    // Pins `memory`, with CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_DEVICEMAP and
    // CU_MEMHOSTREGISTER_READ_ONLY (CUDA 11.1) as the options say. For a read-only registration it
    // also calls cuCtxGetDevice and cuDeviceGetAttribute.
    static Result<HostRegistration> create(const Context &context, std::span<T> memory,
                                           const RegistrationOptions &options = {}) noexcept {
        if (options.read_only && !std::is_const_v<T>) {
            return detail::named(
                Error::invalid_argument("read_only is set but the elements are not const; use "
                                        "HostRegistration<const T>"),
                "HostRegistration::create");
        }
        return register_range(context, const_cast<std::remove_const_t<T> *>(memory.data()),
                              memory.size_bytes(),
                              options.mapped ? detail::DeviceMapped::yes : detail::DeviceMapped::no,
                              flags_of(options))
            .transform([](HostMemory &&registered) noexcept {
                return HostRegistration(static_cast<HostMemory &&>(registered));
            });
    }

    // The number of elements.
    std::size_t size() const noexcept { return size_bytes() / sizeof(T); }
    // The size in bytes.
    using HostMemory::size_bytes;
    // Whether size() is 0.
    bool empty() const noexcept { return size() == 0; }

    // The memory itself. Does not wait: it must not be read while a device may write it, nor
    // written while a device may read it.
    std::span<T> host_span() const noexcept { return {static_cast<T *>(native()), size()}; }

    // The address on devices, for kernel parameters; null if not mapped. It may differ from the
    // address on the host.
    T *device_data() const noexcept { return reinterpret_cast<T *>(device_address()); }
    // A view of the memory for kernels and copies; of size 0 if not mapped.
    DeviceSpan<T> device_span() const noexcept {
        return {device_address(), device_address() != 0 ? size() : 0};
    }

    // The CU_MEMHOSTREGISTER_... flags; see PinnedBuffer::flags.
    Result<unsigned int> flags() const noexcept {
        Result<unsigned int> got = HostMemory::flags();
        if (!got && !*this) {
            return detail::named(Error::invalid_argument("the HostRegistration holds no memory"),
                                 "HostRegistration::flags");
        }
        return detail::named(static_cast<Result<unsigned int> &&>(got), "HostRegistration::flags");
    }
    // Before the memory is released, the destructor waits for all work in this stream: see
    // DeviceBuffer::release_after().
    Result<void> release_after(const Stream &stream) const noexcept {
        return detail::named(HostMemory::release_after(stream), "HostRegistration::release_after");
    }

  private:
    explicit HostRegistration(HostMemory &&memory) noexcept
        : HostMemory(static_cast<HostMemory &&>(memory)) {}

    static unsigned int flags_of(const RegistrationOptions &options) noexcept {
        return (options.portable ? unsigned{CU_MEMHOSTREGISTER_PORTABLE} : 0U) |
               (options.read_only ? unsigned{CU_MEMHOSTREGISTER_READ_ONLY} : 0U);
    }
};

template <DeviceType T>
Text to_text(const HostRegistration<T> &registration) noexcept {
    return detail::text_of("HostRegistration", registration, registration.size_bytes());
}

} // namespace cushim

#endif
