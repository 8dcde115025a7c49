// refused: (invalid conversion|cannot initialize a parameter|cannot convert)
#include <cushim/table.hpp>

CUresult use() {
#ifdef MISUSE
    void *pointer = nullptr;
#else
    CUdeviceptr pointer = 0;
#endif
    return cushim::driver().cuMemAlloc(&pointer, 1);
}
