// Updates of executable graphs from graphs of the same topology.
#include "driver_functions.hpp"
#include "graph/graph_change.hpp"
#include "graph/graph_launch.hpp"

#include <map>

namespace sim {
namespace {

enum Result { error = 1, topology_changed = 2, node_type_changed = 3 };

// Pairs nodes with steps, from the exits upwards and with dependencies in order of addition, as
// CUDA documents it.
class Pairing {
  public:
    Pairing(const Plan &plan, const Graph &graph)
        : plan_(plan), graph_(graph), nodes_(plan.steps.size()) {
        if (plan.steps.size() != graph.nodes.size()) {
            throw UpdateProblem{topology_changed};
        }
        pair_exits();
        while (!open_.empty()) {
            const std::size_t step = open_.back();
            open_.pop_back();
            pair_dependencies(step);
        }
        if (steps_.size() != nodes_.size()) { // the graph has a cycle
            throw UpdateProblem{topology_changed};
        }
    }

    Node &node(std::size_t step) const { return *nodes_[step]; }

  private:
    void pair_exits() {
        std::vector<bool> followed(plan_.steps.size());
        for (const Step &step : plan_.steps) {
            for (const Step::Dependency &dependency : step.after) {
                followed[dependency.step] = true;
            }
        }
        std::vector<Node *> exits;
        for (Node *node : graph_.nodes) {
            if (node->dependents.empty()) {
                exits.push_back(node);
            }
        }
        std::size_t next = 0;
        for (std::size_t step = 0; step < followed.size(); ++step) {
            if (!followed[step]) {
                if (next == exits.size()) {
                    throw UpdateProblem{topology_changed};
                }
                pair(step, *exits[next++]);
            }
        }
        if (next != exits.size()) {
            throw UpdateProblem{topology_changed, exits[next]};
        }
    }

    void pair(std::size_t step, Node &node) {
        nodes_[step] = &node;
        steps_[&node] = step;
        open_.push_back(step);
    }

    void pair_dependencies(std::size_t index) {
        const Step &step = plan_.steps[index];
        Node &node = *nodes_[index];
        if (step.after.size() != node.dependencies.size()) {
            throw UpdateProblem{topology_changed, &node};
        }
        auto edge = node.dependencies.begin();
        for (std::size_t i = 0; i < step.after.size(); ++i, ++edge) {
            const std::size_t from_step = step.after[i].step;
            Node &from = *edge->node;
            const auto known = steps_.find(&from);
            const bool fits =
                nodes_[from_step] == nullptr ? known == steps_.end() : nodes_[from_step] == &from;
            if (!fits || !(step.after[i].data == edge->data)) {
                throw UpdateProblem{topology_changed, &node, &from};
            }
            if (nodes_[from_step] == nullptr) {
                pair(from_step, from);
            }
        }
    }

    const Plan &plan_;
    const Graph &graph_;
    std::vector<Node *> nodes_; // paired node of each step
    std::map<const Node *, std::size_t> steps_;
    std::vector<std::size_t> open_; // paired steps whose dependencies are not paired yet
};

void check_update(const Plan &plan, const Graph &graph, unsigned long long flags) {
    const Pairing pairs(plan, graph);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        if (plan.steps[i].type() != pairs.node(i).type()) {
            throw UpdateProblem{node_type_changed, &pairs.node(i)};
        }
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        const Step &step = plan.steps[i];
        Node &node = pairs.node(i);
        if (const int result = change_problem(step, node.content, flags)) {
            throw UpdateProblem{result, &node};
        }
        for (std::size_t inner = 0; inner < step.plans.size(); ++inner) {
            check_update(*step.plans[inner], *node.graphs[inner], flags);
        }
    }
}

void apply_update(std::shared_ptr<Plan> &shared, const Graph &graph) {
    Plan &plan = writable(shared);
    const Pairing pairs(plan, graph);
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        Step &step = plan.steps[i];
        const Node &node = pairs.node(i);
        step.content = node.content;
        for (std::size_t inner = 0; inner < step.plans.size(); ++inner) {
            apply_update(step.plans[inner], *node.graphs[inner]);
        }
    }
    plan.conditions.clear();
    for (const auto &condition : graph.conditions) {
        plan.conditions.push_back({condition, condition->default_value, condition->assign_default});
    }
}

// Fails for invalid arguments; throws an UpdateProblem.
void update(CUgraphExec exec_handle, CUgraph graph_handle) {
    Exec &exec = exec_of(exec_handle);
    const Graph &graph = graph_of(graph_handle);
    require(!in_a_body(graph), // recorded
            "hGraph is owned by another graph and cannot be used in cuGraphExecUpdate");
    if (graph.owner != nullptr || graph.capturing) {
        throw UpdateProblem{error};
    }
    update_plan(exec.plan, graph, exec.flags);
    exec.references = references_of(graph); // running launches keep the old ones
    run_user_destructors();
}

// Passes the result to the client through `deliver(problem)`. Recorded: calls that fail also report
// success there.
template <class Deliver>
CUresult update(CUgraphExec exec, CUgraph graph, const Deliver &deliver) {
    deliver(UpdateProblem{});
    try {
        update(exec, graph);
    } catch (const UpdateProblem &problem) {
        deliver(problem);
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    return CUDA_SUCCESS;
}

} // namespace

void update_plan(std::shared_ptr<Plan> &plan, const Graph &graph, unsigned long long exec_flags) {
    check_update(*plan, graph, exec_flags);
    apply_update(plan, graph);
}

namespace driver {

EXPORT CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph,
                                  CUgraphNode *hErrorNode_out,
                                  CUgraphExecUpdateResult *updateResult_out) {
    return update(hGraphExec, hGraph, [&](const UpdateProblem &problem) {
        if (hErrorNode_out != nullptr) {
            *hErrorNode_out = problem.node;
        }
        if (updateResult_out != nullptr) {
            *updateResult_out = static_cast<CUgraphExecUpdateResult>(problem.result);
        }
    });
}

#if CUDA_VERSION >= 12000
EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
                                     CUgraphExecUpdateResultInfo *resultInfo) {
    return update(hGraphExec, hGraph, [&](const UpdateProblem &problem) {
        if (resultInfo == nullptr) {
            return;
        }
        resultInfo->result = static_cast<CUgraphExecUpdateResult>(problem.result);
        resultInfo->errorNode = problem.node;
        resultInfo->errorFromNode = problem.from;
    });
}
#endif

} // namespace driver
} // namespace sim
