// refused: (use of|call to) deleted (function|constructor)|implicitly-deleted|implicitly deleted
#include <cushim/virtual_memory.hpp>

// A second owner is asked for: share().
void use(const cushim::MappedRange &mapped) {
#ifdef MISUSE
    const cushim::MappedRange second = mapped;
#else
    const cushim::MappedRange second = mapped.share();
#endif
}
