#include "graph_exec_state.hpp"

#include "with_memory.hpp"

namespace cushim::detail {
namespace {

// Lets go of what is kept when the last launch is through: on cushim's thread, which may wait for it.
struct EndedExec final : Released {
    EndedExec(std::vector<std::unique_ptr<KeptUses>> &&uses, Event &&launch) noexcept
        : kept(std::move(uses)), last_launch(std::move(launch)) {}
    ~EndedExec() override {
        if (!last_launch) {
            return;
        }
        const Result<void> through = last_launch.synchronize();
        if (!through) {
            const Error &error = through.error();
            report_teardown({error.status(), error.entry_point(),
                             reinterpret_cast<unsigned long long>(last_launch.native())});
        }
    }

    const std::vector<std::unique_ptr<KeptUses>> kept;
    const Event last_launch;
};

} // namespace

Result<void> ExecUses::prepare(const Context &context, const KeptUses *kept) noexcept {
    if (kept == nullptr) {
        return {};
    }
    if (!prepare_release()) {
        return Error::make({.kind = ErrorKind::out_of_memory, .detail = "no thread starts"});
    }
    if (!last_launch_) {
        CUSHIM_TRY(last_launch_, Event::create(context, {.timing = false, .blocking_sync = true}));
    }
    return with_memory([this]() -> Result<void> {
        kept_.reserve(kept_.size() + 1);
        return {};
    });
}

void ExecUses::keep(std::unique_ptr<KeptUses> kept) noexcept {
    if (kept) {
        kept_.push_back(std::move(kept));
    }
}

Result<void> ExecUses::launched(const Stream &stream) noexcept {
    was_launched_ = true;
    return last_launch_.record(stream);
}

void ExecUses::end() noexcept {
    if (kept_.empty()) {
        return;
    }
    Event launch = was_launched_ ? std::move(last_launch_) : Event();
    auto *const ended = new (std::nothrow) EndedExec(std::move(kept_), std::move(launch));
    if (ended != nullptr) {
        release_later(ended);
    }
}

} // namespace cushim::detail
