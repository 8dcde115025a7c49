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

RelaxedCapture::RelaxedCapture() noexcept : exchanged_(exchange()) {}

RelaxedCapture::~RelaxedCapture() {
    if (exchanged_) {
        exchange();
    }
}

bool RelaxedCapture::exchange() noexcept {
    const CUresult status = driver().cuThreadExchangeStreamCaptureMode(&other_);
    if (status != CUDA_SUCCESS && !is_missing(status)) {
        report_teardown({status, entry::cuThreadExchangeStreamCaptureMode::name, 0});
    }
    return status == CUDA_SUCCESS;
}

} // namespace cushim::detail
