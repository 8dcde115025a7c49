#include "relaxed_capture.hpp"

#include "state.hpp"

namespace cushim::detail {
void RelaxedCapture::report(CUresult status) noexcept {
    const Error error = failure_of<entry::cuThreadExchangeStreamCaptureMode>(status);
    const bool is_missing = error.kind() == ErrorKind::requires_newer_driver ||
                            error.kind() == ErrorKind::symbol_not_found;
    if (!is_missing) {
        report_teardown({error, 0});
    }
}

} // namespace cushim::detail
