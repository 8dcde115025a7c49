/* The table of the CUDA runtime API: cushim::runtime() has one inline function per entry point. Its
 * manual is table.hpp; this header alone is parsed faster. */
#ifndef CUSHIM_RUNTIME_TABLE_HPP
#define CUSHIM_RUNTIME_TABLE_HPP

#include <cushim/detail/runtime_table.hpp>

#endif
