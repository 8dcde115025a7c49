// Reasons of failures, from the driver's log.
#pragma once

#include <cushim/driver_log.hpp>
#include <cushim/error.hpp>

namespace cushim::detail {

// Why this call of the calling thread failed, with "; " between several reasons; empty if the log
// has none. Called right after the failure: a later call does not get the same lines again.
DriverLog reasons_for(Api api, int status, const char *entry_point) noexcept;

} // namespace cushim::detail
