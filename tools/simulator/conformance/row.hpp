// A row of results: one line for many questions, so that a recording stays short.
#pragma once

#include <string>

namespace record {

// While it exists, questions and observations of the process print only their results, in one line
// that begins with this name: `STATUS` and `(VALUE)`.
class Row {
  public:
    explicit Row(const std::string &name);
    ~Row();
    Row(const Row &) = delete;
    Row &operator=(const Row &) = delete;
};

} // namespace record
