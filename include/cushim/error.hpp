// Errors: the kind, the CUDA status code, and a message.
//
// Of the standard library, includes only <stddef.h>.
#ifndef CUSHIM_ERROR_HPP
#define CUSHIM_ERROR_HPP

#include <cushim/detail/cpp20.hpp>
#include <cushim/loader.h>
#include <cushim/text.hpp>
#include <cushim/version.hpp>

namespace cushim {

class Error;
namespace detail {
// Puts the name of the function that the program called into the error: see named.hpp.
CUSHIM_COLD CUSHIM_API void name_error(const Error &error, const char *function) noexcept;
// What name_error() calls: MinGW accepts no exported function as a friend.
void set_function(const Error &error, const char *function) noexcept;
// The same error with another detail.
Error with_detail(Error &&error, const char *detail) noexcept;
} // namespace detail

// The kinds of errors. Status codes without a kind of their own are `status`; status()
// distinguishes them.
enum class ErrorKind : unsigned char {
    library_not_found,       // no usable CUDA driver, runtime or further library
    stub_library,            // only the toolkit's link stub was found
    no_device,               // CUDA or NVML has no device, or not the requested one
    symbol_not_found,        // an entry point is missing, and not because the driver is too old
    requires_newer_driver,   // the driver is too old: required(), installed()
    requires_newer_headers,  // the CUDA headers of this build are too old: required(), installed()
    not_supported_by_device, // the device does not support it, or CUDA itself does not (801)
    unsupported_platform,    // this operating system or this API cannot do it
    invalid_argument,        // rejected by cushim, not by CUDA; the message has the reason
    wrong_context,           // no context is current, the objects belong to different contexts or
                             // devices, or an IPC handle is opened in its own process
    capture_invalidated,     // the stream capture was invalidated by an earlier error
    out_of_memory,           // device memory, host memory (of CUDA or cushim), or file descriptors
    not_permitted,           // CUDA does not permit the call, for example during a stream capture
    status                   // any other CUDA status code
};
CUSHIM_API Text to_text(ErrorKind kind) noexcept;

// The source of the status: cushim itself, a driver call, a runtime library call, or a call of a
// further library.
enum class Api : unsigned char {
    loader,  // cushim; no CUDA call failed
    driver,  // cu*: status() is a CUresult
    runtime, // cuda*: status() is a cudaError_t
    library  // a function of NVRTC, NVML, ...: status() is its status, library() the library
};
CUSHIM_API Text to_text(Api api) noexcept;

// The name of the enumerator, such as "out_of_memory"; "unknown" for other values.
CUSHIM_API const char *name(ErrorKind kind) noexcept;

struct ErrorText;

// The arguments of Error::make(). Strings may be null, which means "".
struct ErrorParts {
    ErrorKind kind = ErrorKind::status; // the kind of the error
    Api api = Api::loader;              // what reported the error
    int status = 0;                // a CUresult, a cudaError_t or a status of `library`; 0: none
    const char *entry_point = "";  // must live as long as the program: it is not copied
    Version required = Version();  // the required version, if known
    Version installed = Version(); // the installed version, if known
    const char *detail = "";       // is copied; becomes part of the message
    // With Api::library: the library, and the name of its status for the message. The name must
    // live as long as the program; "" if it is not known.
    cushim_library library = CUSHIM_LIBRARY_DRIVER;
    const char *status_name = "";
};

// An error as a value: 48 bytes on 64-bit systems. It allocates memory only to store a detail or
// lines of the driver log (driver_log.hpp), or when its message is requested. Copying shares that
// memory and never fails.
//
// Threads: different threads may use different copies, and call const functions of the same Error,
// at the same time.
class Error {
  public:
    // From the status code of a failed driver or runtime call. The kind follows from the code. If
    // the library is absent, the kind and the message say why. For other libraries, use make().
    // `entry_point` must point to the exported name, a string that lives as long as the program.
    CUSHIM_API static Error status(Api api, int status, const char *entry_point,
                                   const char *detail = "") noexcept;

    // A precondition that cushim checks was violated. `detail` names the violated precondition and
    // its values.
    CUSHIM_API static Error invalid_argument(const char *detail) noexcept;

    // The library is absent: kind library_not_found or stub_library. status() is what the table
    // functions of the absent driver or runtime return, and 303 for a further library. The message
    // is that of the load report: if cushim has not searched for the library yet, this call does.
    CUSHIM_API static Error absent(cushim_library library) noexcept;

    // The library lacks an entry point with this exported name. `name` must point to a string that
    // lives as long as the program.
    CUSHIM_API static Error symbol(cushim_library library, const char *name) noexcept;

    // The driver is too old for `name`, an entry point or a feature; the string must live as long
    // as the program. Either version may be unknown.
    CUSHIM_API static Error requires_newer_driver(const char *name, Version required,
                                                  Version installed) noexcept;

    // The headers of this build lack `name`; the string must live as long as the program.
    CUSHIM_API static Error requires_newer_headers(const char *name, Version required) noexcept;

    // This operating system or this API does not have what was requested.
    CUSHIM_API static Error unsupported_platform(const char *detail) noexcept;

    // Any other error: Error::make({.kind = ErrorKind::no_device, .detail = "..."}).
    CUSHIM_API static Error make(const ErrorParts &parts) noexcept;

    // Copies share the detail and the message. A moved-from Error keeps everything except its
    // detail.
    CUSHIM_API Error(const Error &other) noexcept;
    Error(Error &&other) noexcept
        : entry_point_(other.entry_point_), function_(other.function_), about_(other.about_),
          text_(other.text_), status_(other.status_), required_(other.required_),
          installed_(other.installed_), kind_(other.kind_), api_(other.api_),
          library_(other.library_) {
        other.text_ = nullptr;
    }
    CUSHIM_API Error &operator=(const Error &other) noexcept;
    CUSHIM_API Error &operator=(Error &&other) noexcept;
    ~Error() {
        if (text_ != nullptr) {
            release(text_);
        }
    }

    // The kind of the error.
    ErrorKind kind() const noexcept { return kind_; }
    // Which API's call failed; `loader` if none did.
    Api api() const noexcept { return api_; }
    // The library whose call failed; with absent() and symbol() the one that is absent or lacks the
    // entry point. A further library is identified by a number: for NVML, the one that
    // cushim_nvml_library() returns. CUSHIM_LIBRARY_DRIVER if the error is not about a library.
    cushim_library library() const noexcept { return static_cast<cushim_library>(library_); }

    // What the call returned: a CUresult (driver), a cudaError_t (runtime library) or the status of
    // a further library. If no call failed, the status that cushim chose: for absent() of the
    // driver or the runtime, what their table functions return; otherwise a CUresult, such as 301
    // for a file that cannot be read, or 0.
    int status() const noexcept { return status_; }

    // The exported name of the CUDA entry point, or the name of the system call that failed. With
    // requires_newer_driver and requires_newer_headers, the name of what is missing, which may also
    // be a feature or a type, such as "CUmemPoolProps::maxSize". "" for other errors. Never null.
    const char *entry_point() const noexcept { return entry_point_; }

    // The cushim function that the program called, such as "Stream::synchronize"; "" if the error
    // is not from a cushim function. Never null; valid permanently.
    const char *function() const noexcept { return function_; }

    // The required and the installed version of the driver. With requires_newer_headers, both are
    // versions of the headers. In an error from Error::symbol() for a library other than the
    // driver, both are versions of that library. Unknown if the error does not depend on them.
    Version required() const noexcept { return required_; }
    Version installed() const noexcept { return installed_; }

    // A text for a person: the reason first, then in parentheses the call and what it returned. The
    // cushim function stands before the reason, except if a library is absent: that reason is the
    // same for every function, and a hint follows.
    //     DeviceBuffer::allocate: 64 bytes requested, 16 free (cuMemAlloc_v2:
    //     CUDA_ERROR_OUT_OF_MEMORY)
    //     no CUDA driver: libcuda.so.1 was not found (Device::get: cuInit 303). Hint: install ...
    // Never null. The first call may allocate memory and queries the library for the status name.
    // If memory is exhausted, the text is shorter. Valid as long as this Error.
    CUSHIM_API const char *message() const noexcept CUSHIM_LIFETIMEBOUND;

    // Whether kind, API, library, status, entry point and versions are equal; messages may differ.
    CUSHIM_API friend bool operator==(const Error &left, const Error &right) noexcept;

  private:
    friend void detail::set_function(const Error &error, const char *function) noexcept;
    friend Error detail::with_detail(Error &&error, const char *detail) noexcept;

    Error(const ErrorParts &parts, const cushim_report *report) noexcept;
    const cushim_report *report() const noexcept;

    CUSHIM_API static void release(ErrorText *text) noexcept;

    const char *entry_point_;
    mutable const char *function_ = "";
    // With Api::library the name of the status; otherwise the cushim_report, if the library is
    // absent.
    const void *about_;
    mutable ErrorText *text_ = nullptr; // shared by copies; set once, by the first thread
    int status_;
    Version required_;
    Version installed_;
    ErrorKind kind_;
    Api api_;
    unsigned short library_;
};

static_assert(sizeof(Error) <= 48, "an Error has at most 48 bytes, which every Result reserves");

} // namespace cushim

#endif
