// The same in C++, in a project that requires C++11.
static_assert(__cplusplus < 201402L, "the drop-in must not require a newer language");

#include "existing.c"
