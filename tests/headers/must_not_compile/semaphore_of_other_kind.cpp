// refused: no matching function|too many arguments
#include <cushim/external_semaphore.hpp>
#include <cushim/stream.hpp>

void use(const cushim::BinarySemaphore &binary, const cushim::TimelineSemaphore &timeline,
         const cushim::Stream &stream) {
    (void)timeline.wait(stream, 7);
#ifdef MISUSE
    (void)binary.wait(stream, 7);
#else
    (void)binary.wait(stream);
#endif
}
