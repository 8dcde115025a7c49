// Graphs and their nodes.
#include "values.hpp"

namespace record::plausible {

CUgraph Values::graph() {
    return once(graph_, [](auto out) { return d.cuGraphCreate(out, 0); });
}

CUgraph Values::child() {
    return once(child_, [](auto out) {
        CUgraphNode node = nullptr;
        const CUresult made = d.cuGraphCreate(out, 0);
        d.cuGraphAddEmptyNode(&node, *out, nullptr, 0);
        return made;
    });
}

CUgraphNode Values::node() {
    return once(node_, [&](auto out) { return d.cuGraphAddEmptyNode(out, graph(), nullptr, 0); });
}

CUgraphNode Values::second_node() {
    return once(second_node_,
                [&](auto out) { return d.cuGraphAddEmptyNode(out, graph(), nullptr, 0); });
}

CUgraphNode Values::dependent_node() {
    return once(dependent_node_, [&](auto out) {
        const CUgraphNode on = node();
        return d.cuGraphAddEmptyNode(out, graph(), &on, 1);
    });
}

CUgraphNode Values::kernel_node() {
    return once(kernel_node_, [&](auto out) {
        const CUDA_KERNEL_NODE_PARAMS parameters = launch();
        return d.cuGraphAddKernelNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::copy_node() {
    return once(copy_node_, [&](auto out) {
        const CUDA_MEMCPY3D parameters = copy_3d();
        return d.cuGraphAddMemcpyNode(out, graph(), nullptr, 0, &parameters, context());
    });
}

CUgraphNode Values::fill_node() {
    return once(fill_node_, [&](auto out) {
        const CUDA_MEMSET_NODE_PARAMS parameters = fill();
        return d.cuGraphAddMemsetNode(out, graph(), nullptr, 0, &parameters, context());
    });
}

CUgraphNode Values::host_node() {
    return once(host_node_, [&](auto out) {
        const CUDA_HOST_NODE_PARAMS parameters = host_call();
        return d.cuGraphAddHostNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::child_node() {
    return once(child_node_, [&](auto out) {
        return d.cuGraphAddChildGraphNode(out, graph(), nullptr, 0, child());
    });
}

CUgraphNode Values::record_node() {
    return once(record_node_, [&](auto out) {
        return d.cuGraphAddEventRecordNode(out, graph(), nullptr, 0, event());
    });
}

CUgraphNode Values::wait_node() {
    return once(wait_node_, [&](auto out) {
        return d.cuGraphAddEventWaitNode(out, graph(), nullptr, 0, event());
    });
}

CUgraphNode Values::signal_semaphore_node() {
    return once(signal_node_, [&](auto out) {
        const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS parameters = signals();
        return d.cuGraphAddExternalSemaphoresSignalNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::wait_semaphore_node() {
    return once(wait_semaphore_node_, [&](auto out) {
        const CUDA_EXT_SEM_WAIT_NODE_PARAMS parameters = waits();
        return d.cuGraphAddExternalSemaphoresWaitNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::value_node() {
    return once(value_node_, [&](auto out) {
        const CUDA_BATCH_MEM_OP_NODE_PARAMS parameters = write_values();
        return d.cuGraphAddBatchMemOpNode(out, graph(), nullptr, 0, &parameters);
    });
}

CUgraphNode Values::allocation_node() {
    return once(allocation_node_, [&](auto out) {
        allocated_ = allocation(here());
        return d.cuGraphAddMemAllocNode(out, graph(), nullptr, 0, &allocated_);
    });
}

CUdeviceptr Values::graph_memory() {
    allocation_node();
    return allocated_.dptr;
}

CUgraphNode Values::free_node() {
    return once(free_node_, [&](auto out) {
        const CUgraphNode after = allocation_node();
        return d.cuGraphAddMemFreeNode(out, graph(), &after, 1, allocated_.dptr);
    });
}

CUgraph Values::clone() {
    return once(clone_, [&](auto out) { return d.cuGraphClone(out, graph()); });
}

CUgraphExec Values::executable() {
    return once(executable_,
                [&](auto out) { return d.cuGraphInstantiateWithFlags(out, graph(), 0); });
}

CUuserObject Values::user_object() {
    return once(user_object_, [](auto out) {
        return d.cuUserObjectCreate(out, nullptr, do_nothing, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    });
}

CUuserObject Values::held_object() {
    return once(held_object_, [&](auto out) {
        *out = user_object();
        return d.cuGraphRetainUserObject(graph(), *out, 1, 0);
    });
}

} // namespace record::plausible
