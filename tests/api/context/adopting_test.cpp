// adopt() takes over what is there, and nothing else: an owner of a null handle would be CUDA's
// default stream, or the current context.
#include "harness/memory.hpp"

using namespace api_test;
using namespace cushim;

namespace {

struct Adopted {
    const char *what;
    std::string said; // empty where it was not refused
};

template <class T>
Adopted adopted(const char *what, const Result<T> &result) {
    return {what, result ? "" : result.error().message()};
}

std::vector<Adopted> adopt_nothing(const Context &context) {
    return {
        adopted("Context", Context::adopt(nullptr)),
        adopted("Stream", Stream::adopt(context, nullptr)),
        adopted("Event", Event::adopt(context, nullptr)),
        adopted("Module", Module::adopt(context, nullptr)),
#if CUDA_VERSION >= 12000
        adopted("Library", Library::adopt(nullptr)),
#endif
        adopted("MemoryPool", MemoryPool::adopt(nullptr)),
        adopted("PhysicalMemory", PhysicalMemory::adopt(0, 4096)),
        adopted("AddressRange", AddressRange::adopt(0, 4096)),
        adopted("BinarySemaphore", BinarySemaphore::adopt(context, nullptr)),
        adopted("TimelineSemaphore", TimelineSemaphore::adopt(context, nullptr)),
        adopted("KeyedMutex", KeyedMutex::adopt(context, nullptr)),
        adopted("NvSciSemaphore", NvSciSemaphore::adopt(context, nullptr)),
        adopted("Graph", Graph::adopt(context, nullptr)),
        adopted("GraphExec", GraphExec::adopt(context, nullptr)),
    };
}

template <class Handle>
Handle anything() {
    return reinterpret_cast<Handle>(16);
}

std::vector<Adopted> adopt_in_no_context() {
    return {
        adopted("Stream", Stream::adopt(Context(), anything<CUstream>())),
        adopted("Event", Event::adopt(Context(), anything<CUevent>())),
        adopted("Module", Module::adopt(Context(), anything<CUmodule>())),
        adopted("TimelineSemaphore",
                TimelineSemaphore::adopt(Context(), anything<CUexternalSemaphore>())),
    };
}

} // namespace

TEST_CASE("nothing is not adopted", "[adopting]") {
    const auto context = context_after_restart("");
    const auto calls = calls_in([&] {
        for (const Adopted &one : adopt_nothing(context)) {
            INFO(one.what);
            CHECK(one.said == "invalid argument: the handle is null");
        }
    });
    CHECK(calls.empty());
}

TEST_CASE("memory and addresses of no bytes are not adopted", "[adopting]") {
    const auto memory = adopted("PhysicalMemory", PhysicalMemory::adopt(1 << 20, 0));
    const auto range = adopted("AddressRange", AddressRange::adopt(1 << 20, 0));
    CHECK(memory.said == "invalid argument: adopt: the size is 0 bytes");
    CHECK(range.said == "invalid argument: adopt: the size is 0 bytes");
}

TEST_CASE("what lives in a context is not adopted without one", "[adopting]") {
    restart("");
    const auto calls = calls_in([] {
        for (const Adopted &one : adopt_in_no_context()) {
            INFO(one.what);
            CHECK(one.said == "invalid argument: the context is empty");
        }
    });
    CHECK(calls.empty());
}
