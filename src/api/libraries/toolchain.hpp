// What compilers and linkers of device code have in common: architectures, flags, logs, output.
//
// Functions that return strings or vectors throw std::bad_alloc: see with_memory.hpp.
#pragma once

#include <cushim/detail/code_bytes.hpp>
#include <cushim/device.hpp>
#include <cushim/result.hpp>

#include <span>
#include <string>
#include <vector>

#include "library_call.hpp"

namespace cushim::detail {

// "sm_90", "sm_90a", or the virtual "compute_90".
struct Architecture {
    static Architecture real(int number) noexcept;
    static Architecture virtual_of(int number) noexcept;
    // invalid_argument if the text has another form, which may crash nvJitLink.
    static Result<Architecture> parse(const char *text) noexcept;

    bool is_virtual() const noexcept { return characters[0] == 'c'; }
    // 90 for "sm_90a".
    int number() const noexcept;

    char characters[24] = {};
};

// 90 for a device of compute capability 9.0.
Result<int> architecture_number(Device device) noexcept;

// invalid_argument with the position of a null string.
Result<void> require_strings(std::span<const char *const> strings, const char *what) noexcept;

// The strings, of which vectors of pointers consist.
std::string architecture_flag(const Architecture &architecture);

// The error with the name of what was compiled or linked, and the first 4,000 bytes of the log.
Error with_log(const Error &error, std::string_view subject, std::string_view log);

// A text or code that a library returns in two calls: the size, and then the bytes.
template <class Status, class SizeEntry, class BytesEntry, class Handle>
Result<CodeBytes> fetch(Handle handle) noexcept {
    std::size_t size = 0;
    CUSHIM_TRY_VOID((call_library<Status, SizeEntry>(handle, &size)));
    CodeBytes bytes(size);
    if (!bytes) {
        return no_host_memory();
    }
    if (size != 0) {
        CUSHIM_TRY_VOID((call_library<Status, BytesEntry>(handle, bytes.data())));
    }
    return bytes;
}

// A text of a library: up to its NUL.
inline std::string_view text_in(const CodeBytes &bytes) noexcept {
    return bytes.data();
}

// A copy without the NUL at the end; empty if out of memory.
CodeBytes copy_of(std::string_view text) noexcept;

} // namespace cushim::detail
