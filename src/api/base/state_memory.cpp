#include "state_memory.hpp"

namespace cushim::detail {

#if CUSHIM_SPARE_STATES
namespace {

enum class Keeping : unsigned char { not_yet, now, no_longer };
constinit thread_local Keeping keeping = Keeping::not_yet;

struct AtThreadEnd {
    // The thread begins to keep blocks.
    AtThreadEnd() noexcept {
        keeping = Keeping::now;
        spare_states.room = SpareStates::capacity;
    }
    ~AtThreadEnd() {
        SpareStates &spares = spare_states;
        keeping = Keeping::no_longer;
        spares.room = 0;
        while (void *const block = spares.first) {
            spares.first = *static_cast<void **>(block);
            ::operator delete(block);
        }
    }
};

} // namespace

void free_state_block(void *block) noexcept {
    if (keeping != Keeping::not_yet) { // the list is full, or the thread ends
        ::operator delete(block);
        return;
    }
    thread_local const AtThreadEnd at_thread_end;
    free_state(block, SpareStates::block_size);
}
#endif

} // namespace cushim::detail
