#include "ptx/run/warp.hpp"
#include "ptx/run/block.hpp"
#include "ptx/run/special_values.hpp"

#include <algorithm>
#include <cstring>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

constexpr std::size_t alignment = 64;
constexpr int slice = 1000; // control steps

void fill_constant(const Program::Constant &constant, std::byte *to) {
    if (constant.size == 0) { // a predicate
        const Mask mask = constant.value == 0 ? 0 : all_lanes;
        std::memcpy(to, &mask, sizeof mask);
        return;
    }
    for (std::size_t lane = 0; lane < warp_size; ++lane) {
        std::memcpy(to + lane * constant.size, &constant.value,
                    std::min<std::size_t>(constant.size, sizeof constant.value));
    }
}

} // namespace

Frame::Frame(const Program &its_program, Frame *its_caller)
    : program(&its_program), caller(its_caller), depth(its_caller ? its_caller->depth + 1 : 0),
      bytes_(new std::byte[its_program.frame_size + alignment]()) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.get());
    aligned_ = bytes_.get() + (alignment - address % alignment) % alignment;
    for (const Program::Constant &constant : its_program.constants) {
        fill_constant(constant, aligned_ + constant.at);
    }
}

Warp::Warp(const Program &kernel, Block &block, unsigned int number, Mask lanes,
           std::uint32_t local_bytes)
    : block_(&block), kernel_(&kernel), number_(number), existing_(lanes),
      local_bytes_(local_bytes), local_(new std::byte[std::size_t(local_bytes) * warp_size]()) {}

void Warp::restart() {
    groups_.clear();
    for (std::unique_ptr<Frame> &frame : frames_) {
        unused_.push_back(std::move(frame));
    }
    frames_.clear();
    alive_ = existing_;
    active_ = 0;
    rotate_ = false;
    Frame &frame = enter(*kernel_, nullptr, nullptr, existing_);
    groups_.push_back({existing_, frame.program->steps.data(), &frame});
}

Frame &Warp::enter(const Program &program, Frame *caller, const Step *call, Mask lanes) {
    const auto known =
        std::find_if(unused_.begin(), unused_.end(), [&](const std::unique_ptr<Frame> &frame) {
            return frame->program == &program;
        });
    if (known != unused_.end()) {
        frames_.push_back(std::move(*known));
        unused_.erase(known);
    } else {
        frames_.push_back(std::make_unique<Frame>(program, caller));
        fill(program.specials, *frames_.back());
    }
    Frame &frame = *frames_.back();
    frame.caller = caller;
    frame.call = call;
    frame.depth = caller ? caller->depth + 1 : 0;
    frame.lanes = lanes;
    frame.local_base = caller ? caller->local_base + caller->program->local_size : 0;
    for (Program::Constant address : program.local_addresses) {
        address.value += frame.local_base;
        fill_constant(address, frame.registers() + address.at);
    }
    fill(program.block_specials, frame);
    return frame;
}

void Warp::fill(const std::vector<Program::Special> &specials, Frame &frame) {
    for (const Program::Special &special : specials) {
        fill_special(special, *this, frame.registers() + special.at);
    }
}

Warp::Stop Warp::run() {
    patience_ = slice;
    while (choose()) {
        run_group();
        if (patience_ <= 0 && alive_ != 0) {
            rotate_ = true;
            return Stop::slice;
        }
    }
    return alive_ == 0 ? Stop::done : Stop::waiting;
}

void Warp::merge() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        for (std::size_t j = groups_.size() - 1; j > i; --j) {
            Group &one = groups_[i];
            const Group &other = groups_[j];
            if (one.at == other.at && one.frame == other.frame && one.wait == other.wait &&
                one.argument == other.argument) {
                one.lanes |= other.lanes;
                groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(j));
            }
        }
    }
}

bool Warp::is_ready(const Group &group) const {
    const Mask members = group.argument & alive_;
    switch (group.wait) {
    case Group::Wait::barrier:
        return false;
    case Group::Wait::converge:
        return (members & ~group.lanes) == 0;
    case Group::Wait::lanes: {
        Mask waiting = 0;
        for (const Group &other : groups_) {
            waiting |= other.wait == Group::Wait::lanes ? other.lanes : 0;
        }
        return (members & ~waiting) == 0;
    }
    default:
        return true;
    }
}

bool Warp::choose() {
    if (groups_.size() > 1) {
        merge();
    }
    // Lanes that waited for each other continue together, so all of them are looked at first.
    std::vector<Group>::iterator chosen = groups_.end();
    std::uint32_t ready = 0;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        ready |= is_ready(groups_[i]) ? 1U << i : 0;
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        Group &group = groups_[i];
        if ((ready >> i & 1) == 0) {
            continue;
        }
        group.wait = Group::Wait::none;
        group.argument = 0;
        const bool better =
            chosen == groups_.end() || (rotate_ ? group.ran < chosen->ran
                                        : group.frame->depth != chosen->frame->depth
                                            ? group.frame->depth > chosen->frame->depth
                                            : group.at < chosen->at);
        if (better) {
            chosen = groups_.begin() + static_cast<std::ptrdiff_t>(i);
        }
    }
    if (chosen == groups_.end()) {
        return false;
    }
    active_ = chosen->lanes;
    at_ = chosen->at;
    frame_ = chosen->frame;
    registers_ = frame_->registers();
    groups_.erase(chosen);
    limit_ = frame_->program->steps.data() + frame_->program->steps.size();
    if (!rotate_) {
        for (const Group &group : groups_) {
            if (group.frame == frame_ && group.wait == Group::Wait::none && group.at > at_) {
                limit_ = std::min(limit_, group.at);
            }
        }
    }
    rotate_ = false;
    return true;
}

void Warp::run_group() {
    leave_ = false;
    ++turn_;
    const Step *at = at_;
    const Mask existing = existing_;
    while (at < limit_) {
        Mask mask = active_;
        if (at->guard != no_register) {
            const Mask guard = predicate(at->guard);
            mask &= at->guard_negated ? ~guard : guard;
            if (mask == 0) {
                ++at;
                continue;
            }
        }
        mask_ = mask;
        if (!at->control) {
            (mask == existing ? at->all : at->some)(*this, *at);
            ++at;
            continue;
        }
        at_ = at;
        next_ = at + 1;
        ++branches_;
        at->all(*this, *at);
        --patience_;
        if (leave_) {
            return;
        }
        at = next_;
        if (patience_ <= 0) {
            break;
        }
    }
    groups_.push_back({active_, at, frame_, Group::Wait::none, 0, turn_});
}

void Warp::branch(Mask taken, const Step *target) {
    if (taken == active_) {
        next_ = target;
        return;
    }
    groups_.push_back({taken, target, frame_});
    active_ &= ~taken;
    limit_ = std::min(limit_, target);
}

void Warp::end(Mask lanes) {
    alive_ &= ~lanes;
    active_ &= ~lanes;
    for (Frame *frame = frame_; frame != nullptr; frame = frame->caller) {
        frame->lanes &= ~lanes;
    }
    leave_ = active_ == 0;
    block_->ended(static_cast<unsigned int>(std::popcount(lanes)));
}

bool Warp::has_room(const Program &callee) const noexcept {
    return std::uint64_t(frame_->local_base) + frame_->program->local_size + callee.local_size <=
           local_bytes_;
}

Frame &Warp::call(const Program &callee, Mask lanes) {
    Frame &frame = enter(callee, frame_, at_, lanes);
    groups_.push_back({lanes, callee.steps.data(), &frame});
    active_ &= ~lanes;
    if (active_ != 0) {
        groups_.push_back({active_, next_, frame_});
    }
    leave_ = true;
    return frame;
}

void Warp::leave_frame(Mask lanes) {
    Frame *const frame = frame_;
    groups_.push_back({lanes, frame->call + 1, frame->caller});
    active_ &= ~lanes;
    leave_ = active_ == 0;
    frame->lanes &= ~lanes;
    if (frame->lanes == 0) {
        const auto place =
            std::find_if(frames_.begin(), frames_.end(),
                         [&](const std::unique_ptr<Frame> &one) { return one.get() == frame; });
        unused_.push_back(std::move(*place));
        frames_.erase(place);
    }
}

void Warp::wait(Group::Wait reason, std::uint32_t argument, const Step *at) {
    groups_.push_back({mask_, at, frame_, reason, argument, turn_});
    active_ &= ~mask_;
    leave_ = true;
    if (active_ != 0) { // lanes that the guard excluded
        groups_.push_back({active_, next_, frame_});
    }
}

Mask Warp::members(std::uint32_t offset) {
    const Mask *const masks = lanes<Mask>(offset);
    const Mask members = masks[std::countr_zero(mask_)];
    Mask same = 0;
    for (int lane = 0; lane < warp_size; ++lane) {
        same |= masks[lane] == members ? Mask(1) << lane : 0;
    }
    if (const Mask others = mask_ & ~same; others != 0) {
        groups_.push_back({others, at_, frame_});
        active_ &= ~others;
        mask_ &= same;
        limit_ = std::min(limit_, at_);
    }
    return members;
}

bool Warp::converged(Mask members) {
    if ((members & alive_ & ~mask_) == 0) {
        return true;
    }
    wait(Group::Wait::converge, members, at_);
    return false;
}

void Warp::wait_for_lanes(Mask members) {
    if ((members & alive_ & ~mask_) != 0) {
        wait(Group::Wait::lanes, members, next_);
    }
}

void Warp::wait_at_barrier(unsigned int barrier) {
    wait(Group::Wait::barrier, barrier, at_);
}

bool Warp::release(unsigned int barrier, const Votes &votes) {
    bool any = false;
    for (Group &group : groups_) {
        if (group.wait == Group::Wait::barrier && group.argument == barrier) {
            write_reduction(*group.at, group.frame->registers(), group.lanes, votes);
            ++group.at;
            group.wait = Group::Wait::none;
            group.argument = 0;
            any = true;
        }
    }
    return any;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
