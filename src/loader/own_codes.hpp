/* Names and words of the statuses that cushim itself returns. */
#pragma once

#include <cushim/loader.h>

#include "error_codes.hpp"

namespace cushim {

/* Null texts where cushim does not return the status. The name is that of a CUresult: null for 35,
 * which only the runtime API has. */
CodeTexts own_code(int status);

/* A driver's function as the table has it: that of cuGetErrorName and cuGetErrorString also knows
 * the statuses of cushim where the driver does not. Others stay as they are. */
cushim_function with_own_codes(const char *name, cushim_function function);

} // namespace cushim
