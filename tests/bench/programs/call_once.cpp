/* A getter behind std::call_once. */
#include <mutex>

#include "call_loop.hpp"

[[gnu::noinline]] static Function find() {
    static std::once_flag once;
    static Function function;
    std::call_once(once,
                   [] { function = reinterpret_cast<Function>(dlsym(open_library(), "cuInit")); });
    return function;
}

static CUresult call(unsigned int flags) {
    return find()(flags);
}
