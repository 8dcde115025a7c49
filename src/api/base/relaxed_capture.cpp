#include "relaxed_capture.hpp"

#include "call.hpp"
#include "state.hpp"

namespace cushim::detail {
namespace {

bool is_missing(CUresult status) noexcept {
    using Entry = entry::cuThreadExchangeStreamCaptureMode;
    const ErrorKind kind = failure(status, Entry::name, Entry::introduced).kind();
    return kind == ErrorKind::requires_newer_driver || kind == ErrorKind::symbol_not_found;
}

} // namespace

void RelaxedCapture::report(CUresult status) noexcept {
    if (!is_missing(status)) {
        report_teardown({status, entry::cuThreadExchangeStreamCaptureMode::name, 0});
    }
}

} // namespace cushim::detail
