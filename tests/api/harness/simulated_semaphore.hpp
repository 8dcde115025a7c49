// A semaphore of another API, simulated: no other API is required.
#pragma once

#include "scenario.hpp"

#include <cushim/unique_fd.hpp>

#include <atomic>
#include <cstdint>

#include <sys/mman.h>

namespace api_test {

inline constexpr const char *needs_vulkan =
    "needs a semaphore of another API; external_vulkan_test.cpp has such tests";

// The other API's side of the semaphore.
class SimulatedSemaphore {
  public:
    explicit SimulatedSemaphore(std::uint64_t initial)
        : fd_(simulator()->make_semaphore_fd(initial)),
          state_(static_cast<cushim_sim_semaphore *>(
              mmap(nullptr, sizeof *state_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0))) {
        REQUIRE(state_ != MAP_FAILED);
    }
    ~SimulatedSemaphore() { munmap(state_, sizeof *state_); }
    SimulatedSemaphore(const SimulatedSemaphore &) = delete;
    SimulatedSemaphore &operator=(const SimulatedSemaphore &) = delete;

    cushim::UniqueFd exported() const { return ok(fd_.duplicate()); }
    std::uint64_t value() const { return std::atomic_ref(state_->value).load(); }
    void set(std::uint64_t value) { std::atomic_ref(state_->value).store(value); }

  private:
    cushim::UniqueFd fd_;
    cushim_sim_semaphore *state_;
};

inline void need_simulator(const Trial &trial) {
    if (simulator() == nullptr) {
        trial.skip(needs_vulkan);
    }
}

} // namespace api_test
