#include <cushim/detail/code_bytes.hpp>

#include <cstdlib>

#include "base/ranges.hpp"

namespace cushim::detail {

CodeBytes::CodeBytes(std::size_t size) noexcept {
    data_ = sum_overflows(size, 1) ? nullptr : static_cast<char *>(std::calloc(size + 1, 1));
    size_ = data_ != nullptr ? size : 0;
}

void CodeBytes::free(char *data) noexcept {
    std::free(data);
}

} // namespace cushim::detail
