// refused: no matching function|could not convert|no viable conversion
#include <cushim/external_semaphore.hpp>
#include <cushim/stream.hpp>

void use(const cushim::TimelineSemaphore &timeline, const cushim::Stream &stream) {
#ifdef MISUSE
    (void)cushim::wait_semaphores(stream, {timeline.signaling(7)});
#else
    (void)cushim::wait_semaphores(stream, {timeline.waiting(7)});
#endif
}
