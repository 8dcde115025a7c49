// A warp: its lanes and where they are.
//
// Lanes that are at the same step of the same frame form a group, and run together. Of several
// groups, that in the deepest call runs first, then that with the lowest step: so groups meet again
// where branches join. After a number of branches another group gets its turn, so that every lane
// makes progress.
#pragma once

#include "ptx/run/reduction.hpp"

#include <bit>
#include <memory>
#include <utility>
#include <vector>

namespace sim::ptx::inline SIM_PTX_FEATURES {

class Block;

// The registers and the local memory of a function that lanes are in.
struct Frame {
    Frame(const Program &its_program, Frame *its_caller);

    std::byte *registers() noexcept { return aligned_; }

    const Program *program;
    Frame *caller;
    const Step *call = nullptr; // the step of the caller
    int depth;
    Mask lanes = 0; // that have not returned
    std::uint32_t local_base = 0;

  private:
    std::unique_ptr<std::byte[]> bytes_;
    std::byte *aligned_;
};

class Warp {
  public:
    enum class Stop {
        done,    // all lanes have ended
        waiting, // for other warps
        slice,   // others should run
    };

    // number: in its block. lanes: those that exist.
    Warp(const Program &kernel, Block &block, unsigned int number, Mask lanes,
         std::uint32_t local_bytes);

    // Begins the kernel again, in another block.
    void restart();
    // Runs until it stops.
    Stop run();

    // --- for steps
    template <class T>
    T *lanes(std::uint32_t offset) noexcept {
        return reinterpret_cast<T *>(registers_ + offset);
    }
    Mask &predicate(std::uint32_t offset) noexcept { return *lanes<Mask>(offset); }
    // The lanes of the current step, and those of its group.
    Mask mask() const noexcept { return mask_; }
    Mask active() const noexcept { return active_; }
    // The lanes that have not ended.
    Mask alive() const noexcept { return alive_; }
    Block &block() noexcept { return *block_; }
    Frame &frame() noexcept { return *frame_; }
    unsigned int number() const noexcept { return number_; }
    std::byte *local(int lane) noexcept {
        return local_.get() + static_cast<std::size_t>(lane) * local_bytes_;
    }
    std::uint32_t local_bytes() const noexcept { return local_bytes_; }
    const Step &step() const noexcept { return *at_; }

    // Of steps that are control: these lanes of the group continue there.
    void branch(Mask taken, const Step *target);
    void end(Mask lanes);
    // Whether the local memory of a function that is called now fits.
    bool has_room(const Program &callee) const noexcept;
    // Lanes enter a function; its frame.
    Frame &call(const Program &callee, Mask lanes);
    // Lanes continue behind the call of their frame.
    void leave_frame(Mask lanes);
    // The mask that the first lane names in a register. Lanes that name another one make the step
    // again, by themselves.
    Mask members(std::uint32_t offset);
    // Whether all living lanes of `members` are at this step; if not, the group waits for them.
    bool converged(Mask members);
    // The lanes wait until release(barrier), and then continue behind the step.
    void wait_at_barrier(unsigned int barrier);
    // The group waits until these lanes wait for each other, at any step.
    void wait_for_lanes(Mask members);
    // The other groups may run before this one.
    void yield() noexcept { patience_ = 0; }
    // The step may be that of a loop which waits for other threads: they run soon.
    void may_wait() noexcept { patience_ -= 50; }

    // --- for the block
    // The branches and waits since the last call.
    std::uint64_t take_branches() noexcept { return std::exchange(branches_, 0); }
    // Lanes that wait at a barrier continue, with the result of its reduction if it has one.
    // False if none did.
    bool release(unsigned int barrier, const Votes &votes);

  private:
    struct Group {
        enum class Wait : std::uint8_t { none, barrier, converge, lanes };
        Mask lanes;
        const Step *at;
        Frame *frame;
        Wait wait = Wait::none;
        std::uint32_t argument = 0; // the barrier, or members
        std::uint64_t ran = 0;      // when it ran last
    };

    bool choose();
    void merge();
    bool is_ready(const Group &group) const;
    void run_group();
    void wait(Group::Wait reason, std::uint32_t argument, const Step *at);
    Frame &enter(const Program &program, Frame *caller, const Step *call, Mask lanes);
    void fill(const std::vector<Program::Special> &specials, Frame &frame);

    Block *block_;
    const Program *kernel_;
    const unsigned int number_;
    const Mask existing_;
    Mask alive_ = 0, active_ = 0, mask_ = 0;
    std::byte *registers_ = nullptr;
    Frame *frame_ = nullptr;
    const Step *at_ = nullptr, *next_ = nullptr, *limit_ = nullptr;
    bool leave_ = false;  // the current group has ended, waits, or is in another frame
    bool rotate_ = false; // the group that waited longest is next
    int patience_ = 0;    // control steps until others should run
    std::uint64_t turn_ = 0, branches_ = 0;
    std::vector<Group> groups_; // without the current one
    std::vector<std::unique_ptr<Frame>> frames_, unused_;
    std::uint32_t local_bytes_;
    std::unique_ptr<std::byte[]> local_;
};

} // namespace sim::ptx::inline SIM_PTX_FEATURES
