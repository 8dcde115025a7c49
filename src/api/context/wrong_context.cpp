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

Error failure_of_stream(const Error &error, const Stream &stream, const char *object, CUcontext of,
                        int device) noexcept {
    CUcontext its = nullptr;
    if (error.status() != CUDA_ERROR_INVALID_HANDLE || of == nullptr ||
        status_of<entry::cuStreamGetCtx_v1>(stream.native(), &its) != CUDA_SUCCESS || its == of) {
        return error;
    }
    return wrong_context(
        error, "%s belongs to context %s, the stream to context %s; use a stream of context %s",
        object, context_text(of, device).c_str(), context_text(its, ordinal_of(stream)).c_str(),
        context_text(of).c_str());
}

} // namespace cushim::detail
