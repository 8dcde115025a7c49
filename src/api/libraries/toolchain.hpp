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

#include "base/call.hpp"
#include "base/state.hpp"
#include "kernel/jit_log.hpp"

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

// The version of a library that reports two numbers.
template <class Entry, class Number>
Result<Version> library_version() noexcept {
    Number major = 0, minor = 0;
    CUSHIM_TRY_VOID(call<Entry>(&major, &minor));
    return Version::of(static_cast<int>(major), static_cast<int>(minor));
}

// The same error with the version that introduced the function, if that is missing.
Error with_introduction(const Error &error, Version introduced) noexcept;

// Whether the library has the function; `introduced` is the version of the library that added it.
template <class Entry>
Result<void> require_entry(Version introduced) noexcept {
    const Result<typename Entry::pfn> function = pfn<Entry>();
    return function ? Result<void>() : with_introduction(function.error(), introduced);
}

// A text or code that a library returns in two calls: the size, and then the bytes.
template <class SizeEntry, class BytesEntry, class Handle>
Result<CodeBytes> fetch(Handle handle) noexcept {
    std::size_t size = 0;
    CUSHIM_TRY_VOID(call<SizeEntry>(handle, &size));
    CodeBytes bytes(size);
    if (!bytes) {
        return no_host_memory();
    }
    if (size != 0) {
        CUSHIM_TRY_VOID(call<BytesEntry>(handle, bytes.data()));
    }
    return bytes;
}

// A text of a library: up to its NUL.
inline std::string_view text_in(const CodeBytes &bytes) noexcept {
    return bytes.data();
}

// PTX, without its NUL.
template <class SizeEntry, class BytesEntry, class Handle>
Result<CodeBytes> fetch_text(Handle handle) noexcept {
    CUSHIM_TRY(const CodeBytes text, (fetch<SizeEntry, BytesEntry>(handle)));
    CodeBytes without_nul = copy_of(text_in(text));
    return without_nul ? Result<CodeBytes>(static_cast<CodeBytes &&>(without_nul))
                       : no_host_memory();
}

// Owns an nvrtcProgram or an nvJitLinkHandle.
template <class Handle, class DestroyEntry>
struct Tool {
    Tool() noexcept = default;
    Tool(const Tool &) = delete;
    Tool &operator=(const Tool &) = delete;
    ~Tool() {
        if (native != nullptr) {
            const Handle destroyed = native;
            report_teardown({call<DestroyEntry>(&native), destroyed});
        }
    }

    // nvJitLinkCreate also sets it if it fails: the reason is then in the error log.
    Handle native = nullptr;
};

} // namespace cushim::detail
