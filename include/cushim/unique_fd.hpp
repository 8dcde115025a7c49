/* A POSIX file descriptor that is owned: how memory travels to another process, or from another API. */
#ifndef CUSHIM_UNIQUE_FD_HPP
#define CUSHIM_UNIQUE_FD_HPP

#include <cushim/result.hpp>
#include <cushim/text.hpp>

namespace cushim {

/* Closes its descriptor when it goes, unless it was released. Moved, not copied; what was moved from
 * is empty. A function that takes a UniqueFd owns the descriptor from then on; one that takes an int
 * leaves it the caller's.
 *
 * On Windows there are no such descriptors: the type is there, nothing makes one, and what would use
 * it answers unsupported_platform. Threads: as for an int. Never changes errno. */
class UniqueFd {
  public:
    UniqueFd() noexcept = default;
    // Takes the descriptor over. Negative: empty.
    explicit UniqueFd(int descriptor) noexcept : descriptor_(descriptor < 0 ? -1 : descriptor) {}
    UniqueFd(UniqueFd &&other) noexcept : descriptor_(other.release()) {}
    UniqueFd &operator=(UniqueFd &&other) noexcept {
        if (this != &other) {
            reset(other.release());
        }
        return *this;
    }
    ~UniqueFd() { reset(); }

    explicit operator bool() const noexcept { return descriptor_ >= 0; }

    // -1 where it is empty. Stays this owner's.
    int get() const noexcept { return descriptor_; }

    // Gives the descriptor up: the caller closes it.
    [[nodiscard]] int release() noexcept {
        const int descriptor = descriptor_;
        descriptor_ = -1;
        return descriptor;
    }

    // Closes what it has, and takes this one over instead.
    void reset(int descriptor = -1) noexcept {
        const int old = descriptor_;
        descriptor_ = descriptor < 0 ? -1 : descriptor;
        if (old >= 0) {
            close(old);
        }
    }

    // A second descriptor of the same open file, closed in programs that this one executes (exec).
    // Errors: invalid_argument where this is empty or not open; out_of_memory where the process may
    // have no more of them; unsupported_platform.
    CUSHIM_API Result<UniqueFd> duplicate() const noexcept;

  private:
    CUSHIM_API static void close(int descriptor) noexcept;

    int descriptor_ = -1;
};

CUSHIM_API Text to_text(const UniqueFd &descriptor) noexcept;

} // namespace cushim

#endif
