// Threads keep the memory of a few destroyed owners for their next ones.
#include "harness/memory.hpp"
#include "support/sanitizers.h"

#include <cushim/override.hpp>

#include <thread>
#include <vector>

using namespace api_test;
using namespace cushim;

#ifdef API_TEST_ALLOCATIONS_FAIL
namespace {

// Events whose CUDA objects cost no memory.
class Events {
  public:
    Events() { own_ = context_.native(); }

    void create_and_destroy(std::size_t count) const {
        std::vector<Event> events;
        for (std::size_t made = 0; made < count; ++made) {
            events.push_back(Event::create(context_).value());
        }
    }

  private:
    const Context context_ = context_after_restart("");
    static inline CUcontext own_ = nullptr;
    // In all threads.
    const ScopedOverride<entry::cuCtxGetCurrent> current_{[](CUcontext *context) {
        *context = own_;
        return CUDA_SUCCESS;
    }};
    const ScopedOverride<entry::cuEventCreate> create_{[](CUevent *event, unsigned int) {
        *event = reinterpret_cast<CUevent>(event);
        return CUDA_SUCCESS;
    }};
    const ScopedOverride<entry::cuEventDestroy> destroy_{[](CUevent) { return CUDA_SUCCESS; }};
};

} // namespace

TEST_CASE("a thread keeps the memory of a few destroyed owners", "[state_memory]") {
#ifdef TEST_ADDRESS_SANITIZER
    SKIP("with a sanitizer, threads keep none");
#endif
    const Events events;
    events.create_and_destroy(1);
    const long live = support::live_allocations();
    events.create_and_destroy(1000);
    CHECK(support::live_allocations() - live < 100);
    const long kept = support::live_allocations();
    const long before = support::allocations();
    events.create_and_destroy(1);
    CHECK(support::allocations() - before <= 1); // the vector's
    CHECK(support::live_allocations() == kept);
}

TEST_CASE("a thread frees the memory of destroyed owners when it ends", "[state_memory]") {
    const Events events;
    const long live = support::live_allocations();
    std::thread([&events] { events.create_and_destroy(1000); }).join();
    CHECK(support::live_allocations() == live);
}

TEST_CASE("an owner may be destroyed after its thread freed the memory that it kept",
          "[state_memory]") {
    const Events events;
    const long live = support::live_allocations();
    std::thread([&events] {
        // Destroyed at the end of the thread, after what the first destroyed owner initialised.
        thread_local std::vector<Event> late;
        late.reserve(2);
        events.create_and_destroy(1);
        const Context context = Context::current().value();
        for (int made = 0; made < 2; ++made) {
            late.push_back(Event::create(context).value());
        }
    }).join();
    CHECK(support::live_allocations() == live);
}
#endif
