/* The marks of cushim-core and its drop-in: see cushim/detail/marker.hpp. */
#pragma once

#include <cushim/detail/marker.hpp>

#include "platform/platform.hpp"

namespace cushim {

/* Its text is the version of cushim and the packed version of the CUDA headers: "0.1.0 13000". */
constexpr auto make_marker(unsigned int type) {
    return mark_with(type, CUSHIM_VERSION " " CUSHIM_TEXT(CUSHIM_CUDA_VERSION));
}

} // namespace cushim
