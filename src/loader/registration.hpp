/* Device code registered by compiled code, stored until libcudart is loaded. */
#pragma once

#include "loaded_library.hpp"

namespace cushim {

/* Forwards all stored registrations to libcudart. When this returns, libcudart has all
 * registrations made before the call, whichever thread forwarded them. */
using PassOnRegistrations = void(const LoadedLibrary &runtime);

/* nullptr until a registration is made; called before any function of libcudart is returned. A
 * pointer, so that programs without device code do not link registration.cpp. */
extern PassOnRegistrations *pass_on_registrations;

} // namespace cushim
