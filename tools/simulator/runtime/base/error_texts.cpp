#include "runtime/base/error_texts.hpp"

namespace sim::runtime {
namespace {

struct Code {
    int status;
    unsigned short name, words;
};
#include "error_codes.inc"

} // namespace

const char *error_name(int code) noexcept {
    for (const Code &known : runtime_codes) {
        if (known.status == code) {
            return runtime_texts + known.name;
        }
    }
    return nullptr;
}

} // namespace sim::runtime
