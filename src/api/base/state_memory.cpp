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
        for (SpareStates &spares : spare_states) {
            spares.room = SpareStates::capacity;
        }
    }
    ~AtThreadEnd() {
        keeping = Keeping::no_longer;
        for (SpareStates &spares : spare_states) {
            spares.room = 0;
            while (void *const block = spares.first) {
                spares.first = *static_cast<void **>(block);
                ::operator delete(block);
            }
        }
    }
};

} // namespace

void free_state_block(void *block, std::size_t kind) noexcept {
    if (keeping != Keeping::not_yet) { // the list is full, or the thread ends
        ::operator delete(block);
        return;
    }
    thread_local const AtThreadEnd at_thread_end;
    free_state(block, spare_sizes[kind]);
}
#endif

} // namespace cushim::detail
