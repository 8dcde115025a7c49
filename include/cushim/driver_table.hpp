/* The table of the CUDA driver API: cushim::driver() has one inline function per entry point. Its
 * manual is table.hpp; this header alone is parsed faster. */
#ifndef CUSHIM_DRIVER_TABLE_HPP
#define CUSHIM_DRIVER_TABLE_HPP

#include <cushim/detail/driver_table.hpp>

#endif
