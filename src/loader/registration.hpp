/* Device code that a compiler registered, kept until libcudart is there to take it. */
#pragma once

#include "loaded_library.hpp"

namespace cushim {

/* Hands everything that waits to libcudart, which is loaded. When this returns, whatever was
 * registered before the call is known there, whichever thread handed it over. */
void pass_on_registrations(const LoadedLibrary &runtime);

} // namespace cushim
