// refused: (could not convert|no viable conversion).* 'int' to .*'cushim::UniqueFd'
#include <cushim/unique_fd.hpp>

// A number is taken over where that is written down, and nowhere else.
cushim::UniqueFd use(int descriptor) {
#ifdef MISUSE
    return descriptor;
#else
    return cushim::UniqueFd(descriptor);
#endif
}
