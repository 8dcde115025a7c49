// refused: (could not convert|cannot convert|no viable conversion)
#include <cushim/loader.hpp>

#ifdef MISUSE
int use() {
#else
cushim::Result<int> use() {
#endif
    CUSHIM_TRY_VOID(cushim::load_driver());
    return 0;
}
