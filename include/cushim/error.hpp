// Why something did not work: the kind of an error, its CUDA status code, and a sentence about it.
//
// Includes no header of the standard library.
#ifndef CUSHIM_ERROR_HPP
#define CUSHIM_ERROR_HPP

#include <cushim/config.h>
#include <cushim/loader.h>
#include <cushim/text.hpp>
#include <cushim/version.hpp>

namespace cushim {

// What a program can do something about. Everything else is `status`, and status() tells it apart.
enum class ErrorKind : unsigned char {
    library_not_found,       // no usable CUDA driver (or runtime library) on this machine
    stub_library,            // nothing but the toolkit's link stub was found
    no_device,               // CUDA is there, and has no device to offer
    symbol_not_found,        // the library lacks the entry point, and its version does not say why
    requires_newer_driver,   // the driver is older than what was asked for: required(), installed()
    requires_newer_headers,  // the headers of this build are: required(), installed()
    not_supported_by_device, // this device cannot do it
    unsupported_platform,    // this operating system or this API cannot do it
    invalid_argument,        // refused by cushim before CUDA saw it; the message has the numbers
    wrong_context,           // no context is current, or another than the object's
    capture_invalidated,     // the stream capture was ruined by an earlier error
    out_of_memory,           // of the device, or of the host memory that CUDA wanted
    not_permitted,           // CUDA says that it is not permitted, as within a stream capture
    status                   // any other status code of CUDA
};
CUSHIM_API Text to_text(ErrorKind kind) noexcept;

// Who gave the answer: cushim itself, a call of the driver, or a call of the runtime library.
enum class Api : unsigned char { loader, driver, runtime };
CUSHIM_API Text to_text(Api api) noexcept;

// "out_of_memory", the enumerator's own name; "unknown" for a value that is none.
CUSHIM_API const char *name(ErrorKind kind) noexcept;

struct ErrorText;

// All that an Error can be made from. Strings may be null, which means "".
struct ErrorParts {
    ErrorKind kind = ErrorKind::status;
    Api api = Api::loader;
    int status = 0;                // a CUresult or cudaError_t; 0: no call of CUDA is behind this
    const char *entry_point = "";  // must live as long as the program: it is not copied
    Version required = Version();  // the version that would be needed, where one is known
    Version installed = Version(); // the version that is there, where it is known
    const char *detail = "";       // is copied; becomes part of the message
};

// An error as a value: 40 bytes on 64-bit systems, and no memory of its own unless it was given a
// detail or asked for its message. Copying shares that memory and never fails.
//
// Threads: as for an int, different threads may use different copies as they like, and call const
// functions of one and the same Error at the same time.
class Error {
  public:
    // From the status code of a call that failed. The kind follows from the code, and for the codes
    // that a table function gives when it cannot forward a call, from the state of the library; the
    // message then has what the load report says.
    // `entry_point` is the exported name, and must live as long as the program.
    CUSHIM_API static Error status(Api api, int status, const char *entry_point,
                                   const char *detail = "") noexcept;

    // A precondition that cushim checks was broken. `detail` says which, with the numbers.
    CUSHIM_API static Error invalid_argument(const char *detail) noexcept;

    // The library is absent: kind library_not_found or stub_library, status() what its table
    // functions answer, the message what the load report says. Loads if that was not tried before.
    CUSHIM_API static Error absent(cushim_library library) noexcept;

    // The library is there, and has no entry point with this exported name. `name` must live as
    // long as the program.
    CUSHIM_API static Error symbol(cushim_library library, const char *name) noexcept;

    // The driver is older than `name` (an entry point or a feature; must live as long as the
    // program) needs. Either version may be unknown.
    CUSHIM_API static Error requires_newer_driver(const char *name, Version required,
                                                  Version installed) noexcept;

    // This build was made with headers that lack `name` (must live as long as the program).
    CUSHIM_API static Error requires_newer_headers(const char *name, Version required) noexcept;

    // What was asked for does not exist on this operating system or in this API.
    CUSHIM_API static Error unsupported_platform(const char *detail) noexcept;

    // Anything else, as Error::make({.kind = ErrorKind::no_device, .detail = "..."}).
    CUSHIM_API static Error make(const ErrorParts &parts) noexcept;

    CUSHIM_API Error(const Error &other) noexcept;

    // The source keeps everything but its detail.
    Error(Error &&other) noexcept
        : entry_point_(other.entry_point_), report_(other.report_), text_(other.text_),
          status_(other.status_), required_(other.required_), installed_(other.installed_),
          kind_(other.kind_), api_(other.api_) {
        other.text_ = nullptr;
    }

    CUSHIM_API Error &operator=(const Error &other) noexcept;
    CUSHIM_API Error &operator=(Error &&other) noexcept;

    ~Error() {
        if (text_ != nullptr) {
            release(text_);
        }
    }

    ErrorKind kind() const noexcept { return kind_; }
    Api api() const noexcept { return api_; }

    // The CUresult (of the driver, of cushim itself) or cudaError_t (of the runtime library) that
    // was answered, or that a table function would have answered; 0 where CUDA had no part in it.
    int status() const noexcept { return status_; }

    // The exported name of the entry point, "" where there is none. Never null.
    const char *entry_point() const noexcept { return entry_point_; }

    // The version that would have been needed, and the one that is there: of the driver, except
    // that with requires_newer_headers both are of the headers, and with symbol() of the runtime
    // library installed() is that library's. Unknown where they have no part in the error.
    Version required() const noexcept { return required_; }
    Version installed() const noexcept { return installed_; }

    // One or two sentences for a person, such as
    // "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory". Never null. Built when first
    // asked for, which may allocate memory and asks the library for the name of the status; where
    // there is no memory, a shorter text. The text stays valid as long as this Error or any copy
    // made of it from then on.
    CUSHIM_API const char *message() const noexcept;

    // Whether kind, API, status, entry point and versions are the same; messages may differ.
    CUSHIM_API friend bool operator==(const Error &left, const Error &right) noexcept;

  private:
    Error(const ErrorParts &parts, const cushim_report *report) noexcept;

    CUSHIM_API static void release(ErrorText *text) noexcept;

    const char *entry_point_;
    const cushim_report *report_;       // why the library is absent, if that is behind this
    mutable ErrorText *text_ = nullptr; // shared by copies; set once, by whichever thread is first
    int status_;
    Version required_;
    Version installed_;
    ErrorKind kind_;
    Api api_;
};

static_assert(sizeof(Error) <= 48, "every Result carries the room for an Error");

namespace detail {

// out_of_memory without a status: the host has no memory for an object of cushim.
CUSHIM_API Error no_host_memory() noexcept;

// Writes the message to stderr and aborts: Result::value() of a failure where there are no
// exceptions.
[[noreturn]] CUSHIM_API void abort_with(const Error &error) noexcept;

// Throws cushim::Exception; as abort_with if cushim itself was built without exceptions.
[[noreturn]] CUSHIM_API void throw_exception(const Error &error);

} // namespace detail
} // namespace cushim

#endif
