/* The text of the marks of cushim-core and its drop-in: see cushim/detail/marker.h. */
#pragma once

#include <cushim/detail/marker.h>

#include "platform/platform.h"

/* The version of cushim and the packed version of the CUDA headers: "0.1.0 13000". */
#define CUSHIM_MARK_TEXT CUSHIM_VERSION_TEXT " " CUSHIM_TEXT(CUSHIM_CUDA_VERSION)
