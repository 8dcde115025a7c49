// Error: the kind of a status code, and the storage of its texts.
//
// An Error is plain data until message() is called. Only then is a block allocated, with a
// reference count for the Errors that share it. An Error with a detail has a block from the start:
// the detail belongs to the caller and may not outlive the call.
#include <cushim/detail/error.hpp>
#include <cushim/detail/loader.h>
#include <cushim/driver_table.hpp>
#include <cushim/error.hpp>
#include <cushim/error_hook.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "callback_setting.hpp"
#include "driver_log.hpp"
#include "error_message.hpp"
#include "unheard_errors.hpp"

namespace cushim {

using namespace detail;

// The detail and the driver's reasons follow in the same block.
struct ErrorText {
    std::atomic<int> owners{1};
    std::atomic<char *> message{nullptr}; // null until it is requested

    char *detail() noexcept { return reinterpret_cast<char *>(this + 1); }
    char *reasons() noexcept { return detail() + std::strlen(detail()) + 1; }
};

namespace {

// Error::text_ as an atomic. <atomic> is too expensive for the public header, and std::atomic_ref
// is missing from libc++ before 19.
#ifdef __GNUC__
ErrorText *load(ErrorText *&text) {
    return __atomic_load_n(&text, __ATOMIC_ACQUIRE);
}
bool publish(ErrorText *&text, ErrorText *&expected, ErrorText *made) {
    return __atomic_compare_exchange_n(&text, &expected, made, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}
#else
ErrorText *load(ErrorText *&text) {
    return std::atomic_ref(text).load();
}
bool publish(ErrorText *&text, ErrorText *&expected, ErrorText *made) {
    return std::atomic_ref(text).compare_exchange_strong(expected, made);
}
#endif

ErrorText *share_text(ErrorText *&text) {
    ErrorText *shared = load(text);
    if (shared != nullptr) {
        shared->owners.fetch_add(1, std::memory_order_relaxed);
    }
    return shared;
}

bool is_loaded(cushim_library library) {
    return cushim_load_report(library)->state == CUSHIM_STATE_LOADED;
}

// NVML, NVRTC, ...: they have their own statuses.
bool is_further(cushim_library library) {
    return library != CUSHIM_LIBRARY_DRIVER && library != CUSHIM_LIBRARY_RUNTIME;
}

// The loader's codes depend on its state: a real driver also returns 303 if it cannot initialize
// another library, and a real runtime returns 35 for an old driver.
ErrorKind kind_of(Api api, int status) {
    switch (status) {
    case 2:
        return ErrorKind::out_of_memory;
    case 34:
        return ErrorKind::stub_library;
    case 35:
        if (api != Api::runtime) {
            return ErrorKind::status;
        }
        return is_loaded(CUSHIM_LIBRARY_DRIVER) ? ErrorKind::requires_newer_driver
                                                : ErrorKind::library_not_found;
    case 36:
        return ErrorKind::requires_newer_driver;
    case 100:
        return ErrorKind::no_device;
    case 201:
        return ErrorKind::wrong_context;
    case 302:
        return ErrorKind::symbol_not_found;
    case 303:
        return is_loaded(api == Api::runtime ? CUSHIM_LIBRARY_RUNTIME : CUSHIM_LIBRARY_DRIVER)
                   ? ErrorKind::status
                   : ErrorKind::library_not_found;
    case 800:
    case 900: // in a capturing stream
    case 906: // in the legacy stream during a capture
    case 907: // for an event that was recorded in a capture
        return ErrorKind::not_permitted;
    case 801:
        return ErrorKind::not_supported_by_device;
    case 901:
        return ErrorKind::capture_invalidated;
    default:
        return ErrorKind::status;
    }
}

// The loader's report, if the status comes from the absence of a library; else null.
const cushim_report *report_behind(Api api, int status, ErrorKind kind) {
    if (kind != ErrorKind::library_not_found && kind != ErrorKind::stub_library) {
        return nullptr;
    }
    const bool of_runtime = api == Api::runtime && status == 303;
    const cushim_report *report =
        cushim_load_report(of_runtime ? CUSHIM_LIBRARY_RUNTIME : CUSHIM_LIBRARY_DRIVER);
    return report->state == CUSHIM_STATE_ABSENT ? report : nullptr;
}

Version installed_version(cushim_library library) {
    return Version(cushim_load_report(library)->version);
}

// Not for statuses that programs wait for, nor for the loader's own, nor in a child of fork that
// cannot use CUDA: a thread that the child lacks may have locked the log.
bool may_have_reasons(Api api, int status) {
    return api != Api::loader && status != CUDA_ERROR_NOT_READY &&
           status != CUDA_ERROR_DEINITIALIZED &&
           (status != CUDA_ERROR_NOT_INITIALIZED || cushim_fork_generation() == 0) &&
           is_loaded(CUSHIM_LIBRARY_DRIVER);
}

cushim_library library_in(const ErrorParts &parts) {
    return parts.api == Api::runtime ? CUSHIM_LIBRARY_RUNTIME : parts.library;
}

// Null if out of memory.
ErrorText *make_text(std::string_view detail, std::string_view reasons = "") {
    const size_t size = detail.size() + 1 + reasons.size() + 1;
    void *memory = ::operator new(sizeof(ErrorText) + size, std::nothrow);
    if (memory == nullptr) {
        return nullptr;
    }
    auto *text = ::new (memory) ErrorText;
    std::memset(text->detail(), 0, size);
    detail.copy(text->detail(), detail.size());
    reasons.copy(text->reasons(), reasons.size());
    return text;
}

void destroy_text(ErrorText *text) {
    ::operator delete(text->message.load(std::memory_order_relaxed));
    ::operator delete(text);
}

} // namespace

Error::Error(const ErrorParts &parts, const cushim_report *report) noexcept
    : entry_point_(or_empty(parts.entry_point)), about_(report), status_(parts.status),
      required_(parts.required), installed_(parts.installed), kind_(parts.kind), api_(parts.api),
      library_(static_cast<unsigned short>(library_in(parts))) {
    if (api_ == Api::library) {
        about_ = or_empty(parts.status_name);
    }
    const char *detail = or_empty(parts.detail);
    if (*detail != '\0') {
        text_ = make_text(detail);
    }
}

Error::Error(const Error &other) noexcept
    : entry_point_(other.entry_point_), function_(other.function_), about_(other.about_),
      text_(share_text(other.text_)), status_(other.status_), required_(other.required_),
      installed_(other.installed_), kind_(other.kind_), api_(other.api_), library_(other.library_) {
}

const cushim_report *Error::report() const noexcept {
    return api_ != Api::library ? static_cast<const cushim_report *>(about_) : nullptr;
}

Error &Error::operator=(const Error &other) noexcept {
    return *this = Error(other);
}

Error &Error::operator=(Error &&other) noexcept {
    if (this != &other) {
        this->~Error();
        ::new (static_cast<void *>(this)) Error(static_cast<Error &&>(other));
    }
    return *this;
}

Error Error::make(const ErrorParts &parts) noexcept {
    return Error(parts, nullptr);
}

Error Error::status(Api api, int status, const char *entry_point, const char *detail) noexcept {
    ErrorParts parts;
    parts.kind = kind_of(api, status);
    parts.api = api;
    parts.status = status;
    parts.entry_point = entry_point;
    if (parts.kind == ErrorKind::requires_newer_driver) {
        parts.installed = installed_version(CUSHIM_LIBRARY_DRIVER);
    }
    Error error(parts, report_behind(api, status, parts.kind));
    const DriverLog reasons =
        may_have_reasons(api, status) ? reasons_for(api, status, error.entry_point_) : DriverLog();
    detail = or_empty(detail);
    if (*detail != '\0' || *reasons.c_str() != '\0') {
        error.text_ = make_text(detail, reasons.c_str());
    }
    return error;
}

Error Error::invalid_argument(const char *detail) noexcept {
    ErrorParts parts;
    parts.kind = ErrorKind::invalid_argument;
    parts.detail = detail;
    return make(parts);
}

Error Error::absent(cushim_library library) noexcept {
    ErrorParts parts;
    parts.status = cushim_absent_status(library);
    if (is_further(library)) {
        parts.status = CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
    }
    // libcudart was found but has no driver: the driver is reported.
    parts.library =
        library == CUSHIM_LIBRARY_RUNTIME && is_loaded(library) ? CUSHIM_LIBRARY_DRIVER : library;
    const cushim_report *report = cushim_load_report(parts.library);
    parts.kind = report->reason == CUSHIM_REASON_LINK_STUB ? ErrorKind::stub_library
                                                           : ErrorKind::library_not_found;
    return Error(parts, report);
}

Error Error::symbol(cushim_library library, const char *name) noexcept {
    ErrorParts parts;
    parts.kind = ErrorKind::symbol_not_found;
    parts.status = 302;
    parts.entry_point = name;
    parts.installed = installed_version(library);
    parts.library = library;
    return make(parts);
}

Error Error::requires_newer_driver(const char *name, Version required, Version installed) noexcept {
    ErrorParts parts;
    parts.kind = ErrorKind::requires_newer_driver;
    parts.status = detail::requires_newer_driver;
    parts.entry_point = name;
    parts.required = required;
    parts.installed = installed;
    return make(parts);
}

Error Error::requires_newer_headers(const char *name, Version required) noexcept {
    ErrorParts parts;
    parts.kind = ErrorKind::requires_newer_headers;
    parts.entry_point = name;
    parts.required = required;
    parts.installed = Version(cushim_headers_version());
    return make(parts);
}

Error Error::unsupported_platform(const char *detail) noexcept {
    ErrorParts parts;
    parts.kind = ErrorKind::unsupported_platform;
    parts.detail = detail;
    return make(parts);
}

bool operator==(const Error &left, const Error &right) noexcept {
    return left.kind_ == right.kind_ && left.api_ == right.api_ && left.status_ == right.status_ &&
           left.required_ == right.required_ && left.installed_ == right.installed_ &&
           left.library_ == right.library_ &&
           std::strcmp(left.entry_point_, right.entry_point_) == 0;
}

const char *Error::message() const noexcept {
    ErrorText *text = load(text_);
    if (text == nullptr) {
        ErrorText *const made = make_text("");
        if (made == nullptr) {
            return sentence_of(kind_);
        }
        if (publish(text_, text, made)) {
            text = made;
        } else {
            destroy_text(made); // another thread was first
        }
    }
    char *message = text->message.load(std::memory_order_acquire);
    if (message == nullptr) {
        char *const made =
            make_message(*this, {function_, report(),
                                 api_ == Api::library ? static_cast<const char *>(about_) : "",
                                 text->detail(), text->reasons()});
        if (made == nullptr) {
            return sentence_of(kind_);
        }
        if (text->message.compare_exchange_strong(message, made)) {
            return made;
        }
        ::operator delete(made);
    }
    return message;
}

void Error::release(ErrorText *text) noexcept {
    if (text->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        destroy_text(text);
    }
}

namespace detail {

static constinit CallbackSetting<ErrorHookSetting> error_hook;
static constinit thread_local bool is_in_hook = false;

void name_error(const Error &error, const char *function) noexcept {
    if (function == nullptr || UnheardErrors::exist()) {
        return;
    }
    const bool is_new = *error.function() == '\0';
    set_function(error, function);
    if (!is_new || is_in_hook) {
        return;
    }
    const ErrorHookSetting setting = error_hook.current();
    if (setting.hook != nullptr) {
        is_in_hook = true;
        setting.hook(error, setting.user);
        is_in_hook = false;
    }
}

void set_function(const Error &error, const char *function) noexcept {
    error.function_ = function;
    ErrorText *const text = error.text_;
    if (text != nullptr &&
        (text->owners.load(std::memory_order_acquire) != 1 || text->message.load() != nullptr)) {
        // Others share a message with another name.
        ErrorText *const own = make_text(text->detail(), text->reasons());
        if (own != nullptr) {
            Error::release(text);
            error.text_ = own;
        }
    }
}

Error with_detail(Error &&error, const char *detail) noexcept {
    ErrorText *const before = error.text_;
    ErrorText *const text = make_text(detail, before != nullptr ? before->reasons() : "");
    if (text != nullptr) {
        error.text_ = text;
        if (before != nullptr) {
            Error::release(before);
        }
    }
    return static_cast<Error &&>(error);
}

Error no_host_memory() noexcept {
    return Error::make({.kind = ErrorKind::out_of_memory, .detail = "no host memory"});
}

void abort_with(const Error *error, const char *function) noexcept {
    // The only place where cushim prints or terminates the program: its author requested a value
    // or an error that does not exist.
    std::fprintf(stderr, "cushim: Result::%s of a %s%s\n", function,
                 error != nullptr ? "failure: " : "success",
                 error != nullptr ? error->message() : "");
    std::fflush(stderr);
    std::abort();
}

} // namespace detail
ErrorHookSetting set_error_hook(ErrorHookSetting setting) noexcept {
    return error_hook.exchange(setting);
}

} // namespace cushim
