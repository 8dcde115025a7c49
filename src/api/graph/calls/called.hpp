// A call of the driver or the runtime library that adds a node. Included after the declaration of
// failure() for its API.
#pragma once

#include <cushim/result.hpp>

namespace cushim::detail {

/* The status of a call of this entry point: one register. It becomes an Error only if the call
 * failed. Introduced: how failure() takes the version of the entry point. */
template <class Entry, class Introduced, class Status>
struct Called {
    Status status;

    explicit operator bool() const noexcept { return status == Status{}; }
    Error error() const noexcept {
        return failure(status, Entry::name, Introduced(Entry::introduced));
    }
    operator Result<void>() const noexcept { return *this ? Result<void>() : error(); }
};

template <class Entry, class Introduced, class Status>
Called<Entry, Introduced, Status> called(Status status) noexcept {
    return {status};
}

} // namespace cushim::detail
