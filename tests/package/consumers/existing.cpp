// The same in C++, of a project that keeps to C++11.
static_assert(__cplusplus < 201402L, "the drop-in must not ask for a newer language");

#include "existing.c"
