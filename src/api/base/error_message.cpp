#include "error_message.hpp"

#include <cushim/driver_table.hpp>
#include <cushim/feature.hpp>
#include <cushim/runtime_table.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

namespace cushim {
namespace detail {
namespace {

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

const KindText &kind_text(ErrorKind kind) {
    static constexpr KindText unknown = {"unknown", "unknown error"};
    const unsigned index = static_cast<unsigned>(kind);
    return index <= static_cast<unsigned>(ErrorKind::status) ? kind_texts[index] : unknown;
}

struct StatusNames {
    const char *name = nullptr;
    const char *description = nullptr;
};

// CUDA's texts for a status; null if it has none. The limits are those of the values that the
// headers' enumeration types can hold.
StatusNames names_of(Api api, int status, const char *own_name) {
    StatusNames names;
    if (api == Api::library) {
        // NVRTC calls a status "NVRTC_ERROR unknown" if it does not know it.
        const bool is_known =
            *own_name != '\0' && !std::string_view(own_name).ends_with(" unknown");
        names.name = is_known ? own_name : nullptr;
        return names;
    }
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

// "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY"
void write_call(Writer &out, const Error &error, const StatusNames &names) {
    if (*error.entry_point() != '\0') {
        // A system call returned no CUDA status.
        out << error.entry_point() << (error.api() == Api::loader ? "; " : ": ");
    }
    if (names.name != nullptr) {
        out << names.name;
    } else if (error.api() == Api::library) {
        out << "unknown " << cushim_library_title(error.library()) << " status " << error.status();
    } else {
        out << "unknown CUDA status " << error.status();
    }
}

void write_symbol(Writer &out, const Error &error) {
    switch (error.library()) {
    case CUSHIM_LIBRARY_DRIVER:
        out << "the CUDA driver";
        break;
    case CUSHIM_LIBRARY_RUNTIME:
        out << "the CUDA runtime library";
        break;
    default:
        out << cushim_library_title(error.library());
    }
    if (error.installed()) {
        out << " (" << error.installed() << ")";
    }
    out << " lacks the entry point " << error.entry_point();
    if (error.required()) {
        out << "; version " << error.required() << " or newer is required";
    }
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

void write_name(Writer &out, const Error &error) {
    if (*error.entry_point() != '\0') {
        out << error.entry_point() << ": ";
    }
}

// The message of the kind, with the names and versions in this error.
void write_kind(Writer &out, const Error &error) {
    const bool named = *error.entry_point() != '\0';
    if (error.kind() == ErrorKind::symbol_not_found && named) {
        write_symbol(out, error);
    } else if (error.kind() == ErrorKind::requires_newer_driver && named) {
        write_newer_driver(out, error);
    } else if (error.kind() == ErrorKind::requires_newer_headers && named) {
        write_newer_headers(out, error);
    } else {
        write_name(out, error);
        out << kind_text(error.kind()).sentence;
    }
}

// Whether CUDA's own name of the status is the most precise message.
bool is_about_status(const Error &error) {
    if (error.kind() == ErrorKind::status) {
        return error.api() != Api::loader || error.status() != 0;
    }
    return error.api() != Api::loader && error.status() != 0;
}

// A library is absent, whatever function was called: "no CUDA driver: libcuda.so.1 was not found
// (Device::get: cuInit 303). Hint: install the NVIDIA driver".
void write_absence(Writer &out, const Error &error, const MessageParts &parts) {
    std::string_view explanation = or_empty(parts.report->explanation);
    if (explanation.ends_with('.')) {
        explanation.remove_suffix(1);
    }
    out << explanation;
    const bool has_call = is_about_status(error) && *error.entry_point() != '\0';
    if (has_call || *parts.function != '\0') {
        out << " (";
        out << parts.function;
        out << (has_call && *parts.function != '\0' ? ": " : "");
        if (has_call) {
            out << error.entry_point() << " " << error.status();
        }
        out << ")";
    }
    if (!parts.detail.empty()) {
        out << ": " << parts.detail;
    }
    if (const char *const hint = or_empty(parts.report->hint); *hint != '\0') {
        out << ". Hint: " << hint;
    }
}

// "DeviceBuffer::allocate: 64 bytes requested, 16 free (cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY)"
void write_failure(Writer &out, const Error &error, const MessageParts &parts,
                   const StatusNames &names) {
    if (*parts.function != '\0') {
        out << parts.function;
        out << ": ";
    }
    if (!is_about_status(error)) {
        if (parts.detail.empty()) {
            write_kind(out, error);
        } else {
            write_name(out, error);
            out << parts.detail;
        }
        return;
    }
    const bool is_line = parts.detail.find('\n') == parts.detail.npos;
    const std::string_view reason =
        is_line && !parts.detail.empty() ? parts.detail : or_empty(names.description);
    if (reason.empty()) {
        write_call(out, error, names);
    } else {
        out << reason << " (";
        write_call(out, error, names);
        out << ")";
    }
    if (!is_line) {
        out << ": " << parts.detail;
    }
}

} // namespace

char *make_message(const Error &error, const MessageParts &parts) noexcept {
    StatusNames names;
    if (is_about_status(error)) {
        names = names_of(error.api(), error.status(), parts.status_name);
    }
    const auto write = [&](Writer out) {
        if (parts.report != nullptr) {
            write_absence(out, error, parts);
        } else {
            write_failure(out, error, parts, names);
        }
        if (!parts.reasons.empty()) {
            out << (out.ends_sentence() ? " The driver's log: " : ". The driver's log: ")
                << parts.reasons;
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

const char *sentence_of(ErrorKind kind) noexcept {
    return kind_text(kind).sentence;
}

} // namespace detail

using namespace detail;

const char *name(ErrorKind kind) noexcept {
    return kind_text(kind).name;
}

} // namespace cushim
