// refused: (use of|call to) deleted (function|constructor)|implicitly-deleted|implicitly deleted
#include <cushim/unique_fd.hpp>

void use(cushim::UniqueFd &descriptor) {
#ifdef MISUSE
    cushim::UniqueFd copy = descriptor;
#else
    cushim::UniqueFd moved = static_cast<cushim::UniqueFd &&>(descriptor);
#endif
}
