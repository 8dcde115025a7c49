#include "wrong_context.hpp"

#include <cstdarg>
#include <cstdio>

#include "base/state.hpp"

namespace cushim::detail {

Error wrong_context(const FailedCall &call, const char *format, ...) noexcept {
    char text[400];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return Error::make({.kind = ErrorKind::wrong_context,
                        .api = call.status != CUDA_SUCCESS ? Api::driver : Api::loader,
                        .status = call.status,
                        .entry_point = call.entry_point,
                        .detail = text});
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

Error failure_of_stream(const Stream &stream, const FailedCall &call, const char *object,
                        CUcontext of, int device) noexcept {
    CUcontext its = nullptr;
    if (call.status != CUDA_ERROR_INVALID_HANDLE || of == nullptr ||
        driver().cuStreamGetCtx_v1(stream.native(), &its) != CUDA_SUCCESS || its == of) {
        return failure(call.status, call.entry_point, call.introduced);
    }
    return wrong_context(
        call, "%s belongs to context %s, the stream to context %s; use a stream of context %s",
        object, context_text(of, device).c_str(), context_text(its, ordinal_of(stream)).c_str(),
        context_text(of).c_str());
}

} // namespace cushim::detail
