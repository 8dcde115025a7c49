// What nodes use and graphs keep: owners and closures, handed to CUDA as user objects, whose references it
// copies and drops with the graphs and executable graphs that may run them.
#pragma once

#include <cushim/graph_node.hpp>

#include <memory>
#include <vector>

#include "graph_api.hpp"
#include "release_later.hpp"

namespace cushim::detail {

// Goes when CUDA says that no graph needs it any more: on a thread on which CUDA may be called.
struct KeptUses final : Released {
    KeptUses() = default;
    ~KeptUses() override {
        if (closure.object != nullptr) {
            closure.destroy(closure.object);
        }
    }
    std::vector<Need> needs;
    Closure closure;
};

// Null where there is nothing to keep. Takes the closure over in any case.
Result<std::unique_ptr<KeptUses>> keep_uses(const NodeUses &uses) noexcept;

// What is to be kept, before the graph takes it. Goes with it unless it does.
class PendingUses {
  public:
    // Of nothing.
    PendingUses() noexcept = default;

    // Makes a user object where there is something to keep.
    static Result<PendingUses> make(const GraphApi &api, std::unique_ptr<KeptUses> kept) noexcept;

    PendingUses(PendingUses &&other) noexcept : api_(other.api_), object_(other.object_) {
        other.object_ = nullptr;
    }
    PendingUses &operator=(PendingUses &&) = delete;
    ~PendingUses() {
        if (object_ != nullptr) {
            (void)api_->user_object_release(object_);
        }
    }

    Result<void> give_to(CUgraph graph) noexcept;

  private:
    PendingUses(const GraphApi &api, CUuserObject object) noexcept : api_(&api), object_(object) {}

    const GraphApi *api_ = nullptr;
    CUuserObject object_ = nullptr;
};

} // namespace cushim::detail
