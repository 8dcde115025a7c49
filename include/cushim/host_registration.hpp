/* Temporarily pins host memory that the caller owns. */
#ifndef CUSHIM_HOST_REGISTRATION_HPP
#define CUSHIM_HOST_REGISTRATION_HPP

#include <span>

#include <cushim/context.hpp>
#include <cushim/detail/host_memory.hpp>
#include <cushim/typed_buffer.hpp>

namespace cushim {

// How HostRegistration pins memory.
struct HostRegistrationOptions {
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
 *     CUSHIM_TRY_VOID(cushim::copy(stream, buffer, pinned));
 *
 * The memory must outlive the registration and keep its address. It is unpinned where a buffer
 * frees its memory: see typed_buffer.hpp. HostRegistration<const T> is for read-only memory. Any
 * alignment is valid.
 *
 * Errors: invalid_argument for elements at address 0; out_of_memory;
 * CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712) if part of the memory is already registered.
 * cuMemHostRegister_v2, cuMemHostGetDevicePointer_v2, cuMemHostUnregister. */
template <DeviceType T>
class HostRegistration : public TypedBuffer<T, detail::RegisteredMemory> {
    using Memory = detail::RegisteredMemory;
    using Base = TypedBuffer<T, Memory>;

  public:
    using Base::Base;

    // Pins `memory`, with CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_DEVICEMAP and
    // CU_MEMHOSTREGISTER_READ_ONLY (CUDA 11.1) as the options say. For a read-only registration it
    // also calls cuCtxGetDevice and cuDeviceGetAttribute.
    static Result<HostRegistration> create(const Context &context, std::span<T> memory,
                                           const HostRegistrationOptions &options = {}) noexcept {
        if (options.read_only && !std::is_const_v<T>) {
            return detail::named(
                "HostRegistration::create",
                Error::invalid_argument("read_only is set but the elements are not const; use "
                                        "HostRegistration<const T>"));
        }
        return detail::named(
            "HostRegistration::create",
            Memory::register_range(
                context, const_cast<std::remove_const_t<T> *>(memory.data()), memory.size_bytes(),
                options.mapped ? detail::DeviceMapped::yes : detail::DeviceMapped::no,
                flags_of(options)));
    }

    // The CU_MEMHOSTREGISTER_... flags; see PinnedBuffer::flags.
    Result<unsigned int> flags() const noexcept {
        return detail::named("HostRegistration::flags",
                             *this ? this->memory().flags()
                                   : Error::invalid_argument("the HostRegistration is empty"));
    }

  private:
    static unsigned int flags_of(const HostRegistrationOptions &options) noexcept {
        return (options.portable ? unsigned{CU_MEMHOSTREGISTER_PORTABLE} : 0U) |
               (options.read_only ? unsigned{CU_MEMHOSTREGISTER_READ_ONLY} : 0U);
    }
};

} // namespace cushim

#endif
