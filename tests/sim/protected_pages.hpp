// Memory of the process whose pages can be protected.
#pragma once

#include <cstddef>
#include <vector>

namespace sim_test {

enum class Protection { none, read, write };

// Pages as large as those of any system, one for each protection.
class ProtectedPages {
  public:
    static constexpr std::size_t size = std::size_t(64) << 10;

    explicit ProtectedPages(const std::vector<Protection> &protections);
    ~ProtectedPages();
    ProtectedPages(const ProtectedPages &) = delete;
    ProtectedPages &operator=(const ProtectedPages &) = delete;

    char *start() const { return start_; }
    std::size_t bytes() const { return count_ * size; }
    void protect(std::size_t page, Protection protection) const;

  private:
    std::size_t count_;
    char *start_;
};

} // namespace sim_test
