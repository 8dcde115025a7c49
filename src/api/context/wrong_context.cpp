#include "wrong_context.hpp"

#include <cstdarg>
#include <cstdio>

#include "base/state.hpp"

namespace cushim::detail {
namespace {

Error make(Api api, int status, const char *entry_point, const char *format,
           std::va_list arguments) noexcept {
    char text[400];
    std::vsnprintf(text, sizeof text, format, arguments);
    return Error::make({.kind = ErrorKind::wrong_context,
                        .api = api,
                        .status = status,
                        .entry_point = entry_point,
                        .detail = text});
}

} // namespace

Error wrong_context(const Error &error, const char *format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    Error made = make(error.api(), error.status(), error.entry_point(), format, arguments);
    va_end(arguments);
    return made;
}

Error wrong_context(const char *format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    Error made = make(Api::loader, 0, "", format, arguments);
    va_end(arguments);
    return made;
}

Text context_text(CUcontext context, int device) noexcept {
    const auto number = reinterpret_cast<unsigned long long>(context);
    Text text;
    if (device >= 0) {
        std::snprintf(text.characters, sizeof text.characters, "0x%llx (device %d)", number,
                      device);
    } else {
        std::snprintf(text.characters, sizeof text.characters, "0x%llx", number);
    }
    return text;
}

namespace {

// The context that the stream's events and memory belong to, or null. A stream of a green context
// has its own context, but not its own objects.
CUcontext owner_of(const Stream &stream) noexcept {
    CUcontext its = nullptr;
#if CUDA_VERSION >= 12050
    if (status_of<entry::cuStreamGetCtx_v2>(stream.native(), &its, nullptr) == CUDA_SUCCESS) {
        return its;
    }
#endif
    return status_of<entry::cuStreamGetCtx_v1>(stream.native(), &its) == CUDA_SUCCESS ? its
                                                                                      : nullptr;
}

} // namespace

Error failure_of_stream(const Error &error, const Stream &stream, const char *object, CUcontext of,
                        int device) noexcept {
    if (error.status() != CUDA_ERROR_INVALID_HANDLE || of == nullptr) {
        return error;
    }
    const CUcontext its = owner_of(stream);
    if (its == nullptr || its == of) {
        return error;
    }
    return wrong_context(
        error, "%s belongs to context %s, the stream to context %s; use a stream of context %s",
        object, context_text(of, device).c_str(), context_text(its, ordinal_of(stream)).c_str(),
        context_text(of).c_str());
}

} // namespace cushim::detail
