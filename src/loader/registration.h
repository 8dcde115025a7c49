/* Device code registered by compiled code, stored until libcudart is loaded. */
#pragma once

#include "library.h"

/* Forwards all stored registrations to libcudart. When this returns, libcudart has all
 * registrations made before the call, whichever thread forwarded them. */
typedef void PassOnRegistrations(const SearchRecord *runtime);

/* NULL until a registration is made; called before any function of libcudart is returned. A
 * pointer, so that programs without device code do not link registration.c. */
extern PassOnRegistrations *cushim_pass_on_registrations;
