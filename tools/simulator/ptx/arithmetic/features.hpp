// The arithmetic of PTX on single values, which the executor loops over the lanes of a warp.
//
// The same source can be compiled several times, for processors with different features, and linked
// into one library. SIM_PTX_FEATURES then differs: it names the inline namespace, so that the
// linker does not merge functions of one compilation with those of another. For that reason the
// functions here call no inline functions of the standard library.
//
// Results are the same for every processor if the compiler does not contract a * b + c: sources
// that include these headers need -ffp-contract=off. With -fno-math-errno -fno-trapping-math, and
// -O3, compilers vectorize the loops. GCC does not vectorize fma and sqrt with -frounding-math, so
// a function in a RoundingScope must read its operands from memory, where the compiler knows
// neither their values nor earlier results of the same operation.
#pragma once

#ifndef SIM_PTX_FEATURES
#define SIM_PTX_FEATURES baseline
#endif
