#include "library_call.hpp"

namespace cushim::detail {

Error failure(const FailedLibraryCall &call) noexcept {
    return Error::make({.kind = call.meaning.kind,
                        .api = Api::library,
                        .status = call.status,
                        .entry_point = call.entry_point,
                        .library = call.library,
                        .status_name = call.meaning.name});
}

Error with_introduction(const Error &error, Version introduced) noexcept {
    if (error.kind() != ErrorKind::symbol_not_found) {
        return error;
    }
    return Error::make({.kind = error.kind(),
                        .status = error.status(),
                        .entry_point = error.entry_point(),
                        .required = introduced,
                        .installed = error.installed(),
                        .library = error.library()});
}

} // namespace cushim::detail
