// refused: invalid conversion|no matching function|cannot (convert|initialize)|could not convert
#include <cushim/external_memory.hpp>

void use(void *handle) {
#ifdef MISUSE
    (void)cushim::ExternalMemorySource::opaque_win32_kmt(L"memory");
#endif
    (void)cushim::ExternalMemorySource::opaque_win32_kmt(handle);
}
