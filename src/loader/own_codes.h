/* Names and descriptions of the statuses that cushim returns. */
#pragma once

#include <cushim/loader.h>

#include "error_codes.h"

/* Null texts for other statuses. The name is that of a CUresult; NULL for 35, which only the
 * runtime API has. */
CodeTexts cushim_own_code(int status);

/* The function for a driver's table entry. cuGetErrorName and cuGetErrorString are wrapped, so that
 * they also know cushim's statuses if the driver does not. Others are unchanged. */
cushim_function cushim_with_own_codes(const char *name, cushim_function function);
