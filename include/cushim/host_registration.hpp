/* Host memory of the caller's own, pinned for a time. */
#ifndef CUSHIM_HOST_REGISTRATION_HPP
#define CUSHIM_HOST_REGISTRATION_HPP

#include <span>

#include <cushim/host_memory.hpp>

namespace cushim {

struct RegistrationOptions {
    // Pinned for the devices of all contexts. Where host and devices share one address space, as on
    // all 64-bit systems, it always is.
    bool portable = false;
    // For kernels, too, and not only for copies.
    bool mapped = true;
    // Devices only read it: needed for memory that the process itself may only read. The elements
    // must be const. Kind not_supported_by_device where
    // CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED is 0.
    bool read_only = false;
};

/* Pins memory that the caller has, such as a std::vector's, until the registration goes. The memory
 * must live, and keep its address, for longer; work that is queued and uses it must be done by
 * then, or release_after() says what to wait for.
 *
 *     std::vector<float> values(1000);
 *     CUSHIM_TRY(auto pinned, HostRegistration<float>::create(context, values));
 *     CUSHIM_TRY_VOID(copy(stream, buffer.span(), pinned.host_span()));
 *
 * HostRegistration<const T> is for memory that is only read. A registration of nothing is valid,
 * and never reaches CUDA. No byte may be registered twice at a time: status 712. Any alignment will
 * do.
 *
 * Threads: the rules of handle.hpp. Needs no current context and does not change it.
 * Errors: invalid_argument for elements at address 0; out_of_memory.
 * cuMemHostRegister_v2 (CUDA 6.5), cuMemHostGetDevicePointer_v2, cuMemHostUnregister. */
template <DeviceType T>
class HostRegistration : public detail::HostMemory {
  public:
    HostRegistration() noexcept = default;

    // CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_READ_ONLY
    // (CUDA 11.1); for that cuCtxGetDevice and cuDeviceGetAttribute, too.
    static Result<HostRegistration> create(const Context &context, std::span<T> memory,
                                           const RegistrationOptions &options = {}) noexcept {
        if (options.read_only && !std::is_const_v<T>) {
            return Error::invalid_argument("read_only, and the elements are not const");
        }
        return register_range(context, const_cast<std::remove_const_t<T> *>(memory.data()),
                              memory.size_bytes(),
                              options.mapped ? detail::DeviceMapped::yes : detail::DeviceMapped::no,
                              flags_of(options))
            .transform([](HostMemory &&registered) noexcept {
                return HostRegistration(static_cast<HostMemory &&>(registered));
            });
    }

    std::size_t size() const noexcept { return size_bytes() / sizeof(T); }
    bool empty() const noexcept { return size() == 0; }

    // The memory itself. Not while the device may write it, nor to write to while it may read it.
    std::span<T> host_span() const noexcept { return {static_cast<T *>(native()), size()}; }

    // For kernels' parameters: null where it is not mapped. Often another address than the host's.
    T *device_data() const noexcept { return reinterpret_cast<T *>(device_address()); }
    // For kernels, and for copies: copy.hpp. Empty where it is not mapped.
    DeviceSpan<T> device_span() const noexcept {
        return {device_address(), device_address() != 0 ? size() : 0};
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
