/* Device code that a compiler registered, kept until libcudart is there to take it. */
#pragma once

#include "loaded_library.hpp"

namespace cushim {

/* Hands everything that waits to libcudart. When this returns, whatever was registered before the
 * call is known there, whichever thread handed it over. */
using PassOnRegistrations = void(const LoadedLibrary &runtime);

/* nullptr until something registers; called before any function of libcudart is given out. A
 * pointer, so that programs without device code of their own do without registration.cpp. */
extern PassOnRegistrations *pass_on_registrations;

} // namespace cushim
