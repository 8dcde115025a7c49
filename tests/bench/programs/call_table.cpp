/* The call goes through cushim's table. */
#include <cushim/driver_table.hpp>

#include "call_loop.hpp"

static CUresult call(unsigned int flags) {
    return cushim::driver().cuInit(flags);
}
