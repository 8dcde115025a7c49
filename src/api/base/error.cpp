// Error: the kind of a status code, and its message.
//
// An Error is plain data until message() is called. Only then is a block allocated, with a
// reference count for the Errors that share it. An Error with a detail has a block from the start:
// the detail belongs to the caller and may not outlive the call.
#include <cushim/detail/error.hpp>
#include <cushim/detail/loader.h>
#include <cushim/error.hpp>
#include <cushim/feature.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include <cushim/driver_table.hpp>
#include <cushim/runtime_table.hpp>

#include "driver_log.hpp"
#include "function_name.hpp"

#ifndef __GNUC__
#include <atomic>
#endif

namespace cushim {

// The detail and the driver's reasons follow in the same block.
struct ErrorText {
    int owners = 1;
    char *message = nullptr; // null until it is requested

    char *detail() noexcept { return reinterpret_cast<char *>(this + 1); }
    char *reasons() noexcept { return detail() + std::strlen(detail()) + 1; }
};

namespace {

// The few atomic operations of this file. <atomic> is too expensive for the public header, and
// std::atomic_ref, which would avoid it there, is missing from libc++ before 19.
#ifdef __GNUC__
template <class T>
T *load(T *&pointer) {
    return __atomic_load_n(&pointer, __ATOMIC_ACQUIRE);
}
template <class T>
bool publish(T *&pointer, T *&expected, T *made) {
    return __atomic_compare_exchange_n(&pointer, &expected, made, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}
void add_owner(int &owners) {
    __atomic_add_fetch(&owners, 1, __ATOMIC_RELAXED);
}
bool remove_owner(int &owners) {
    return __atomic_sub_fetch(&owners, 1, __ATOMIC_ACQ_REL) == 0;
}
bool is_sole_owner(int &owners) {
    return __atomic_load_n(&owners, __ATOMIC_ACQUIRE) == 1;
}
#else
template <class T>
T *load(T *&pointer) {
    return std::atomic_ref(pointer).load();
}
template <class T>
bool publish(T *&pointer, T *&expected, T *made) {
    return std::atomic_ref(pointer).compare_exchange_strong(expected, made);
}
void add_owner(int &owners) {
    ++std::atomic_ref(owners);
}
bool remove_owner(int &owners) {
    return --std::atomic_ref(owners) == 0;
}
bool is_sole_owner(int &owners) {
    return std::atomic_ref(owners).load() == 1;
}
#endif

ErrorText *share_text(ErrorText *&text) {
    ErrorText *shared = load(text);
    if (shared != nullptr) {
        add_owner(shared->owners);
    }
    return shared;
}

// Appends to a buffer. Keeps counting if it is full or null: composing twice gives size, then text.
class Writer {
  public:
    Writer(char *out, size_t size) : out_(out), size_(size) {}

    Writer &operator<<(std::string_view text) {
        for (const char character : text) {
            put(character);
        }
        return *this;
    }
    Writer &operator<<(Version version) { return *this << to_text(version).c_str(); }
    Writer &operator<<(int number) {
        char digits[16];
        std::snprintf(digits, sizeof digits, "%d", number);
        return *this << digits;
    }

    bool ends_sentence() const { return last_ == '.' || last_ == '!' || last_ == '?'; }
    size_t length() const { return length_; }

  private:
    void put(char character) {
        if (length_ < size_) {
            out_[length_] = character;
        }
        ++length_;
        last_ = character;
    }

    char *out_;
    size_t size_;
    size_t length_ = 0;
    char last_ = '\0';
};

struct KindText {
    const char *name;
    const char *sentence; // the message without further information
};

constexpr KindText kind_texts[] = {
    {"library_not_found", "no usable CUDA library was found"},
    {"stub_library", "only the CUDA toolkit's link stub was found, which is not a driver"},
    {"no_device", "there is no CUDA device"},
    {"symbol_not_found", "the CUDA library lacks an entry point"},
    {"requires_newer_driver", "a newer CUDA driver is needed"},
    {"requires_newer_headers", "the program was built with CUDA headers that are too old"},
    {"not_supported_by_device", "the device does not support this"},
    {"unsupported_platform", "this platform does not support this"},
    {"invalid_argument", "invalid argument"},
    {"wrong_context", "the current CUDA context is not the right one"},
    {"capture_invalidated", "the stream capture was invalidated by an earlier error"},
    {"out_of_memory", "out of memory"},
    {"not_permitted", "the operation is not permitted"},
    {"status", "a CUDA call failed"},
};

static_assert(sizeof kind_texts / sizeof kind_texts[0] == static_cast<int>(ErrorKind::status) + 1);

const KindText &text_of(ErrorKind kind) {
    static constexpr KindText unknown = {"unknown", "unknown error"};
    const unsigned index = static_cast<unsigned>(kind);
    return index <= static_cast<unsigned>(ErrorKind::status) ? kind_texts[index] : unknown;
}

const char *or_empty(const char *text) {
    return text != nullptr ? text : "";
}

// --- kinds ---

bool is_loaded(cushim_library library) {
    return cushim_load_report(library)->state == CUSHIM_STATE_LOADED;
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

// --- messages ---

struct StatusNames {
    const char *name = nullptr;
    const char *description = nullptr;
};

// CUDA's texts for a status; null if it has none. The limits are those of the values that the
// headers' enumeration types can hold.
StatusNames names_of(Api api, int status) {
    StatusNames names;
    if (status < 0 || status > (api == Api::runtime ? 16383 : 1023)) {
        return names;
    }
    if (api == Api::runtime) {
        const auto code = static_cast<cudaError_t>(status);
        names = {runtime().cudaGetErrorName(code), runtime().cudaGetErrorString(code)};
        // For an unknown status, CUDA returns the same text as name and as description.
        return std::strcmp(names.name, names.description) != 0 ? names : StatusNames{};
    }
    const auto code = static_cast<CUresult>(status);
    if (driver().cuGetErrorName(code, &names.name) != CUDA_SUCCESS) {
        names.name = nullptr;
    }
    if (driver().cuGetErrorString(code, &names.description) != CUDA_SUCCESS) {
        names.description = nullptr;
    }
    return names;
}

void write_status(Writer &out, int status, const StatusNames &names) {
    if (names.name != nullptr) {
        out << names.name << " (" << status << ")";
    } else {
        out << "unknown CUDA status " << status;
    }
}

void write_symbol(Writer &out, const Error &error, bool of_runtime) {
    out << (of_runtime ? "the CUDA runtime library" : "the CUDA driver");
    if (error.installed()) {
        out << " (" << error.installed() << ")";
    }
    out << " lacks the entry point " << error.entry_point();
}

bool is_feature(const char *name) {
    for (int index = 0; index < feature_count; ++index) {
        if (std::strcmp(name, cushim::name(static_cast<Feature>(index))) == 0) {
            return true;
        }
    }
    return false;
}

void write_newer_driver(Writer &out, const Error &error) {
    out << (is_feature(error.entry_point()) ? "Feature::" : "") << error.entry_point();
    if (error.required()) {
        out << " requires a driver for CUDA " << error.required() << " or newer";
    } else {
        out << " requires a newer driver";
    }
    if (error.installed()) {
        out << "; the installed driver is for CUDA " << error.installed();
    }
}

void write_newer_headers(Writer &out, const Error &error) {
    out << error.entry_point() << " requires a build with the headers of ";
    if (error.required()) {
        out << "CUDA " << error.required() << " or newer";
    } else {
        out << "a newer CUDA";
    }
    out << "; this build used those of " << error.installed();
}

void write_report(Writer &out, const cushim_report &report) {
    out << or_empty(report.explanation);
    if (*or_empty(report.hint) != '\0') {
        out << (out.ends_sentence() ? " To do: " : ". To do: ") << report.hint;
    }
}

void write_name(Writer &out, const Error &error) {
    if (*error.entry_point() != '\0') {
        out << error.entry_point() << ": ";
    }
}

// The message of the kind, with the names and versions in this error.
void write_kind(Writer &out, const Error &error) {
    const bool named = *error.entry_point() != '\0';
    if (error.kind() == ErrorKind::symbol_not_found && named) {
        write_symbol(out, error, std::strncmp(error.entry_point(), "cuda", 4) == 0);
    } else if (error.kind() == ErrorKind::requires_newer_driver && named) {
        write_newer_driver(out, error);
    } else if (error.kind() == ErrorKind::requires_newer_headers && named) {
        write_newer_headers(out, error);
    } else {
        write_name(out, error);
        out << text_of(error.kind()).sentence;
    }
}

// Whether CUDA's own name of the status is the most precise message.
bool is_about_status(const Error &error) {
    if (error.kind() == ErrorKind::status) {
        return error.api() != Api::loader || error.status() != 0;
    }
    return error.api() != Api::loader && error.status() != 0;
}

void write_function(Writer &out, const char *function) {
    const std::string_view name = detail::name_in(function);
    const detail::Backend *const backend = detail::backend_of(name);
    if (backend != nullptr) {
        out << backend->name << name.substr(backend->prefix.size());
    } else {
        out << name;
    }
}

void write_message(Writer &out, const Error &error, const cushim_report *report,
                   const StatusNames &names, std::string_view detail) {
    const bool is_line = !detail.empty() && detail.find('\n') == detail.npos;
    if (report != nullptr && !is_about_status(error)) {
        write_report(out, *report);
    } else if (!is_about_status(error)) {
        if (detail.empty()) {
            write_kind(out, error);
        } else {
            write_name(out, error);
            out << detail;
        }
        return;
    } else if (is_line && report == nullptr) {
        out << detail << " (";
        if (error.api() == Api::loader && *error.entry_point() != '\0') {
            out << error.entry_point() << "; "; // a system call, which returned no CUDA status
        } else {
            write_name(out, error);
        }
        write_status(out, error.status(), names);
        out << ")";
        return;
    } else {
        write_name(out, error);
        write_status(out, error.status(), names);
        if (report != nullptr) {
            out << ": ";
            write_report(out, *report);
        } else if (names.description != nullptr && *names.description != '\0') {
            out << ": " << names.description;
        }
    }
    if (!detail.empty()) {
        out << ": " << detail;
    }
}

// Null if out of memory.
char *make_message(const Error &error, const char *function, const cushim_report *report,
                   ErrorText &text) {
    StatusNames names;
    if (is_about_status(error)) {
        names = names_of(error.api(), error.status());
    }
    const auto write = [&](Writer out) {
        if (*function != '\0') {
            write_function(out, function);
            out << ": ";
        }
        write_message(out, error, report, names, text.detail());
        if (*text.reasons() != '\0') {
            out << (out.ends_sentence() ? " The driver's log: " : ". The driver's log: ")
                << text.reasons();
        }
        return out.length();
    };
    const size_t length = write(Writer(nullptr, 0));
    auto *const message = static_cast<char *>(::operator new(length + 1, std::nothrow));
    if (message != nullptr) {
        write(Writer(message, length));
        message[length] = '\0';
    }
    return message;
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
    ::operator delete(text->message);
    ::operator delete(text);
}

} // namespace

const char *name(ErrorKind kind) noexcept {
    return text_of(kind).name;
}

Error::Error(const ErrorParts &parts, const cushim_report *report) noexcept
    : entry_point_(or_empty(parts.entry_point)), report_(report), status_(parts.status),
      required_(parts.required), installed_(parts.installed), kind_(parts.kind), api_(parts.api) {
    const char *detail = or_empty(parts.detail);
    if (*detail != '\0') {
        text_ = make_text(detail);
    }
}

Error::Error(const Error &other) noexcept
    : entry_point_(other.entry_point_), function_(other.function_), report_(other.report_),
      text_(share_text(other.text_)), status_(other.status_), required_(other.required_),
      installed_(other.installed_), kind_(other.kind_), api_(other.api_) {}

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
    const DriverLog reasons = may_have_reasons(api, status)
                                  ? detail::reasons_for(api, status, error.entry_point_)
                                  : DriverLog();
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
    // A libcudart that is present lacks a driver.
    const cushim_report *report =
        cushim_load_report(is_loaded(library) ? CUSHIM_LIBRARY_DRIVER : library);
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
           std::strcmp(left.entry_point_, right.entry_point_) == 0;
}

Text Error::function() const noexcept {
    Text text;
    Writer out(text.characters, sizeof text.characters - 1);
    write_function(out, function_);
    text.characters[std::min(out.length(), sizeof text.characters - 1)] = '\0';
    return text;
}

const char *Error::message() const noexcept {
    ErrorText *text = load(text_);
    if (text == nullptr) {
        ErrorText *const made = make_text("");
        if (made == nullptr) {
            return text_of(kind_).sentence;
        }
        if (publish(text_, text, made)) {
            text = made;
        } else {
            destroy_text(made); // another thread was first
        }
    }
    char *message = load(text->message);
    if (message == nullptr) {
        char *const made = make_message(*this, function_, report_, *text);
        if (made == nullptr) {
            return text_of(kind_).sentence;
        }
        if (publish(text->message, message, made)) {
            return made;
        }
        ::operator delete(made);
    }
    return message;
}

void Error::release(ErrorText *text) noexcept {
    if (remove_owner(text->owners)) {
        destroy_text(text);
    }
}

namespace detail {

void name_error(const Error &error, const char *function) noexcept {
    error.function_ = function;
    ErrorText *const text = error.text_;
    if (text != nullptr && (!is_sole_owner(text->owners) || text->message != nullptr)) {
        // Others share a message with another name.
        ErrorText *const own = make_text(text->detail(), text->reasons());
        if (own != nullptr) {
            Error::release(text);
            error.text_ = own;
        }
    }
}

Error named(Error &&error, const char *function) noexcept {
    if (function != nullptr) {
        name_error(error, function);
    }
    return static_cast<Error &&>(error);
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

void abort_with(const Error &error) noexcept {
    // The only place where cushim prints or terminates the program: its author requested a value
    // that does not exist, and exceptions are disabled.
    std::fprintf(stderr, "cushim: Result::value() of a failure: %s\n", error.message());
    std::fflush(stderr);
    std::abort();
}

} // namespace detail
} // namespace cushim
