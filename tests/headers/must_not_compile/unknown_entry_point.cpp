// refused: (no member named|is not a member of|has no member named)
// .*cuNoSuchFunction|cuNoSuchFunction.* is not a member
#include <cushim/table.hpp>

CUresult use() {
#ifdef MISUSE
    return cushim::driver().cuNoSuchFunction(0);
#else
    return cushim::driver().cuInit(0);
#endif
}
