// adopt() rejects null handles: to CUDA, a null handle is the default stream or the current
// context.
#include "harness/memory.hpp"

using namespace api_test;
using namespace cushim;

namespace {

constexpr const char *null = "the handle is null";
constexpr const char *no_context = "the Context holds no context";
constexpr const char *no_bytes = "the size is 0 bytes";

struct Refused {
    const char *what;
    const char *why;
    std::string said;
};

template <class T>
Refused adopted(const char *what, const char *why, const Result<T> &result) {
    return {what, why, result ? "not refused" : result.error().message()};
}

template <class Handle>
Handle anything() {
    return reinterpret_cast<Handle>(16);
}

std::vector<Refused> adopt_what_cannot_be(const Context &context) {
    const Context none;
    return {
        adopted("Context", null, Context::adopt(nullptr)),
        adopted("Stream", null, Stream::adopt(context, nullptr)),
        adopted("Event", null, Event::adopt(context, nullptr)),
        adopted("Module", null, Module::adopt(context, nullptr)),
#if CUDA_VERSION >= 12000
        adopted("Library", null, Library::adopt(nullptr)),
#endif
        adopted("MemoryPool", null, MemoryPool::adopt(nullptr)),
        adopted("PhysicalMemory", null, PhysicalMemory::adopt(0, 4096)),
        adopted("AddressRange", "the address is null", AddressRange::adopt(0, 4096)),
        adopted("BinarySemaphore", null, BinarySemaphore::adopt(context, nullptr)),
        adopted("TimelineSemaphore", null, TimelineSemaphore::adopt(context, nullptr)),
        adopted("KeyedMutex", null, KeyedMutex::adopt(context, nullptr)),
        adopted("NvSciSemaphore", null, NvSciSemaphore::adopt(context, nullptr)),
        adopted("Graph", null, Graph::adopt(context, nullptr)),
        adopted("GraphExec", null, GraphExec::adopt(context, nullptr)),
        adopted("PhysicalMemory", no_bytes, PhysicalMemory::adopt(1 << 20, 0)),
        adopted("AddressRange", no_bytes, AddressRange::adopt(1 << 20, 0)),
        adopted("Stream", no_context, Stream::adopt(none, anything<CUstream>())),
        adopted("Event", no_context, Event::adopt(none, anything<CUevent>())),
        adopted("Module", no_context, Module::adopt(none, anything<CUmodule>())),
        adopted("TimelineSemaphore", no_context,
                TimelineSemaphore::adopt(none, anything<CUexternalSemaphore>())),
    };
}

} // namespace

TEST_CASE("adopt() rejects null handles, empty sizes and empty contexts", "[adopting]") {
    const auto context = context_after_restart("");
    check_no_calls([&] {
        for (const auto &[what, why, said] : adopt_what_cannot_be(context)) {
            INFO(what);
            CHECK(said == std::string(what) + "::adopt: " + why);
        }
    });
}
