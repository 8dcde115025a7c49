#include "uses.hpp"

#include <cushim/copy.hpp>
#include <cushim/table.hpp>

#include <algorithm>

namespace api_test {

using namespace cushim;

std::vector<Use> all_uses() {
    std::vector<Use> all;
    for (const auto &topic : {memory_uses(), work_uses(), sharing_uses(), graph_uses()}) {
        all.insert(all.end(), topic.begin(), topic.end());
    }
    return all;
}

Use own_context_use() {
    return {"a context of its own", [](const Workplace &place) -> Result<void> {
                CUSHIM_TRY(Context own, Context::create(place.device));
                CUSHIM_TRY(const auto inside, Workplace::in(std::move(own), place.device));
                for (const Use &use : memory_uses()) {
                    const Result<void> used = use.run(inside);
                    if (!used && !is_lack(used.error())) {
                        return used;
                    }
                }
                return {};
            }};
}

bool is_lack(const Error &error) {
    switch (error.kind()) {
    case ErrorKind::library_not_found:
    case ErrorKind::requires_newer_driver:
    case ErrorKind::requires_newer_headers:
    case ErrorKind::not_supported_by_device:
    case ErrorKind::unsupported_platform:
        return true;
    default:
        return false;
    }
}

Result<void> must(bool holds, const char *what) {
    return holds ? Result<void>() : Error::invalid_argument(what);
}

Result<void> must_be_on(const Workplace &place, CUdeviceptr memory) {
    CUSHIM_TRY(const ContextScope scope, place.context.enter());
    int ordinal = -1;
    const CUresult status =
        driver().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory);
    if (status != CUDA_SUCCESS) {
        return Error::status(Api::driver, status, "cuPointerGetAttribute");
    }
    return must(ordinal == place.device.native(), "the memory lies on another device");
}

Result<void> must_be_in(const Workplace &place, const Stream &stream) {
    CUSHIM_TRY(const Context context, stream.context());
    return must(context.native() == place.context.native(), "the stream is of another context");
}

Result<void> must_be_filled(const Context &context, DeviceSpan<const int> memory, int value) {
    std::vector<int> values(memory.size());
    CUSHIM_TRY_VOID(copy(context, std::span(values), memory));
    const bool filled =
        std::all_of(values.begin(), values.end(), [=](int found) { return found == value; });
    return must(filled, "the memory does not hold what was written");
}

} // namespace api_test
