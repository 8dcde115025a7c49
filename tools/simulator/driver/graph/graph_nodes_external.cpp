// External semaphore nodes and batch memory operation nodes.
#include "engine/context.hpp"
#include "graph/graph_nodes.hpp"
#include "interop/external.hpp"
#include "memory/stream_memory_operations.hpp"

namespace sim {
namespace {

template <class Operations, class Parameters>
Operations copied(const Parameters &p) {
    require(p.numExtSems == 0 || (p.extSemArray != nullptr && p.paramsArray != nullptr));
    return {{p.extSemArray, p.extSemArray + p.numExtSems},
            {p.paramsArray, p.paramsArray + p.numExtSems}};
}

template <class Parameters, class Operations>
void show_lists(Parameters &out, Operations &operations) {
    out = {};
    out.extSemArray = operations.semaphores.data();
    out.paramsArray = operations.parameters.data();
    out.numExtSems = static_cast<unsigned int>(operations.semaphores.size());
}

constexpr unsigned int most_operations = 256; // limit for one batch

} // namespace

NodeContent SignalNode::content(const Parameters &parameters) {
    NodeContent content;
    content.work =
        signal_work(copied<SemaphoreSignals>(parameters), "external semaphore signal node");
    return content;
}

NodeContent WaitNode::content(const Parameters &parameters) {
    NodeContent content;
    content.work = wait_work(copied<SemaphoreWaits>(parameters), "external semaphore wait node");
    return content;
}

NodeContent BatchNode::content(const Parameters &p) {
    require(p.flags == 0 && p.count <= most_operations &&
            (p.count == 0 || p.paramArray != nullptr));
    refuse_destroyed(p.ctx);
    NodeContent content;
    content.context = p.ctx;
    content.batch_flags = p.flags;
    content.work = batch_memory_work({p.paramArray, p.paramArray + p.count}, p.flags,
                                     "batch memory operation node");
    return content;
}

void SignalNode::show(Node &node, Parameters &out) {
    show_lists(out, std::any_cast<SemaphoreSignals &>(node.content.work.parameters));
}

void WaitNode::show(Node &node, Parameters &out) {
    show_lists(out, std::any_cast<SemaphoreWaits &>(node.content.work.parameters));
}

void BatchNode::show(Node &node, Parameters &out) {
    auto &operations =
        std::any_cast<std::vector<CUstreamBatchMemOpParams> &>(node.content.work.parameters);
    out = {};
    out.ctx = node.content.context;
    out.count = static_cast<unsigned int>(operations.size());
    out.paramArray = operations.data();
    out.flags = node.content.batch_flags;
}

} // namespace sim
