/* All of cushim. A program that needs one thing includes the header of that thing instead: it is
 * parsed faster. */
#ifndef CUSHIM_CUSHIM_HPP
#define CUSHIM_CUSHIM_HPP

#include <cushim/config.h>
#include <cushim/entry.hpp>
#include <cushim/error.hpp>
#include <cushim/exception.hpp>
#include <cushim/feature.hpp>
#include <cushim/init.hpp>
#include <cushim/loader.h>
#include <cushim/loader.hpp>
#include <cushim/override.hpp>
#include <cushim/result.hpp>
#include <cushim/table.hpp>
#include <cushim/version.hpp>

#endif
