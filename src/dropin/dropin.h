/* What the generated drop-in functions of the CUDA libraries need. */
#pragma once

#include <cushim/detail/forward.h>

#include "../loader/mark_text.h"

// Identifies a program with the drop-in for cushim-audit.
CUSHIM_MARK(cushim_dropin_mark, CUSHIM_MARK_DROPIN, CUSHIM_MARK_TEXT);

/* In the exported library, runtime API functions have a symbol version, as in libcudart. Its name
 * contains the major version, as there, since structures differ between major versions. A library
 * that is linked to a libcudart requests the version of that libcudart and keeps using it, although
 * the program has functions of the same names. A library that is linked to no libcudart requests no
 * version and finds these. The functions of libcuda have no version. The third @: the function has
 * no unversioned name. CUSHIM_DROPIN_VERSION is the name of the version; the build defines it. */
#if defined(CUSHIM_DROPIN_VERSION)
#define CUSHIM_GIVE_VERSION(function)                                                              \
    __asm__(".symver " #function ", " #function "@@@" CUSHIM_DROPIN_VERSION);
#else
#define CUSHIM_GIVE_VERSION(function)
#endif
