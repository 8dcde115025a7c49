/* An owned POSIX file descriptor: how memory is passed to another process or from another API. */
#ifndef CUSHIM_UNIQUE_FD_HPP
#define CUSHIM_UNIQUE_FD_HPP

#include <cushim/result.hpp>
#include <cushim/text.hpp>

namespace cushim {

/* The owner of a file descriptor, which its destructor closes. Moved, not copied; a moved-from
 * owner is empty. A function that takes a UniqueFd takes ownership; one that takes an int does not.
 *
 * Windows has no such descriptors: no function creates one, and functions that need one fail with
 * unsupported_platform. Never changes errno.
 *
 * Threads: as for an int. */
class UniqueFd {
  public:
    // An empty owner.
    UniqueFd() noexcept = default;
    // Takes ownership of the descriptor; a negative one makes an empty owner.
    explicit UniqueFd(int descriptor) noexcept : descriptor_(descriptor < 0 ? -1 : descriptor) {}
    // Moving leaves the source empty; assignment closes the previous descriptor.
    UniqueFd(UniqueFd &&other) noexcept : descriptor_(other.release()) {}
    UniqueFd &operator=(UniqueFd &&other) noexcept {
        if (this != &other) {
            reset(other.release());
        }
        return *this;
    }
    ~UniqueFd() { reset(); }

    // Whether it holds a descriptor; not whether that is open.
    explicit operator bool() const noexcept { return descriptor_ >= 0; }

    // The descriptor; -1 if empty. This object keeps ownership.
    int get() const noexcept { return descriptor_; }

    // Gives up ownership and returns the descriptor: the caller must close it.
    [[nodiscard]] int release() noexcept {
        const int descriptor = descriptor_;
        descriptor_ = -1;
        return descriptor;
    }

    // Closes the current descriptor, and takes ownership of this one.
    void reset(int descriptor = -1) noexcept {
        const int old = descriptor_;
        descriptor_ = descriptor < 0 ? -1 : descriptor;
        if (old >= 0) {
            close(old);
        }
    }

    // A second descriptor of the same open file, closed on exec. fcntl.
    // Errors: invalid_argument if this is empty or not open; out_of_memory if the process has
    // reached its limit of descriptors; unsupported_platform.
    CUSHIM_API Result<UniqueFd> duplicate() const noexcept;

  private:
    CUSHIM_API static void close(int descriptor) noexcept;

    int descriptor_ = -1;
};

CUSHIM_API Text to_text(const UniqueFd &descriptor) noexcept;

} // namespace cushim

#endif
