// Creates plans from graphs: checks their structure and finds an order in which their nodes can
// run.
#include "graph/graph_plan.hpp"
#include "call/misuse.hpp"
#include "engine/graph_memory.hpp"
#include "graph/graph_nodes.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace sim {
namespace {

// CUgraphInstantiateResult; in the headers since CUDA 12.0.
enum Result {
    error = 1,
    invalid_structure = 2,
    not_supported = 3,
    several_contexts = 4,
    unused_handle = 5
};

// Rules that depend on where a graph is, and how it will be launched.
struct Rules {
    bool device_launch = false;
    bool in_body = false;        // inside the body of a conditional node
    CUctx_st *context = nullptr; // device launch: common context of all kernels
};

constexpr unsigned long long device_launch_flag = 4;

bool is_work_of_kernels(CUgraphNodeType type) {
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           type == CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_GRAPH;
}

void check_node(Node &node, Rules &rules) {
    const bool for_device = is_work_of_kernels(node.type());
    if (rules.device_launch && !for_device) {
        throw PlanProblem{not_supported, CUDA_ERROR_INVALID_VALUE, &node,
                          "a node of this type cannot be launched from the device"};
    }
    if (rules.in_body && !for_device && node.type() != CU_GRAPH_NODE_TYPE_EMPTY &&
        node.type() != conditional_node) {
        throw PlanProblem{not_supported, CUDA_ERROR_NOT_SUPPORTED, &node,
                          "a node of this type cannot be in the body of a conditional node"};
    }
    if (rules.device_launch && node.type() == CU_GRAPH_NODE_TYPE_KERNEL) {
        CUctx_st *context = kernel_context(node.content);
        if (context != nullptr && rules.context != nullptr && context != rules.context) {
            throw PlanProblem{several_contexts, CUDA_ERROR_INVALID_VALUE, &node,
                              "kernels of several contexts"};
        }
        rules.context = context != nullptr ? context : rules.context;
    }
}

std::vector<Step> steps_of(const Graph &graph) {
    std::size_t count = 0;
    for (Node *node : graph.nodes) {
        node->step = count++;
    }
    std::vector<Step> steps;
    steps.reserve(count);
    for (Node *node : graph.nodes) {
        Step step = {node, node->content, {}, true, {}};
        for (const Edge &edge : node->dependencies) {
            step.after.push_back({edge.node->step, edge.data});
        }
        steps.push_back(std::move(step));
    }
    return steps;
}

// An allocation node, and the free node of the same graph that must follow it.
struct FreedAllocation {
    std::size_t allocation, free; // steps
    bool follows = false;
};

// In the order in which the free nodes run. `allocation` equals `free` without an allocation node.
std::vector<FreedAllocation> freed_allocations(const Plan &plan) {
    std::unordered_map<const GraphAllocation *, std::size_t> allocations;
    std::vector<FreedAllocation> found;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        if (plan.steps[i].type() == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
            allocations[plan.steps[i].content.allocation.get()] = i;
        }
    }
    for (const std::size_t i : plan.order) {
        const Step &step = plan.steps[i];
        const GraphAllocation *own = step.content.allocation.get();
        if (step.type() == CU_GRAPH_NODE_TYPE_MEM_FREE && own->graph == step.node->graph) {
            const auto allocation = allocations.find(own);
            found.push_back({allocation == allocations.end() ? i : allocation->second, i});
        }
    }
    return found;
}

// Divides the steps into chains, each step of which depends on the one before it.
class Chains {
  public:
    explicit Chains(const Plan &plan) : places_(plan.steps.size()) {
        std::vector<bool> continued(plan.steps.size());
        std::size_t position = 0;
        for (const std::size_t i : plan.order) {
            places_[i] = {i, position++};
            for (const Step::Dependency &dependency : plan.steps[i].after) {
                if (!continued[dependency.step]) {
                    continued[dependency.step] = true;
                    places_[i].chain = places_[dependency.step].chain;
                    break;
                }
            }
        }
    }

    // Whether these two are in one chain in this order.
    bool hold(std::size_t before, std::size_t after) const {
        return places_[before].chain == places_[after].chain &&
               places_[before].position < places_[after].position;
    }

  private:
    struct Place {
        std::size_t chain, position; // the first step; the place in Plan::order
    };
    std::vector<Place> places_;
};

// Sets `follows` of up to 64 pairs. Bit k of a step is set if it follows allocation k.
void search(const Plan &plan, const std::vector<FreedAllocation *> &pairs) {
    std::vector<std::uint64_t> own(plan.steps.size()), before(plan.steps.size());
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        own[pairs[k]->allocation] |= std::uint64_t(1) << k;
    }
    for (const std::size_t i : plan.order) {
        for (const Step::Dependency &dependency : plan.steps[i].after) {
            before[i] |= before[dependency.step] | own[dependency.step];
        }
    }
    for (std::size_t k = 0; k < pairs.size(); ++k) {
        pairs[k]->follows = (before[pairs[k]->free] >> k & 1) != 0;
    }
}

// Reports a free node that does not follow its allocation node in the same graph. The driver
// accepts it. Most pairs are in one chain; the others are searched for together.
void note_early_frees(const Plan &plan) {
    constexpr std::size_t most = 64;
    std::vector<FreedAllocation> pairs = freed_allocations(plan);
    if (pairs.empty()) {
        return;
    }
    const Chains chains(plan);
    std::vector<FreedAllocation *> open;
    for (FreedAllocation &pair : pairs) {
        pair.follows = chains.hold(pair.allocation, pair.free);
        if (!pair.follows) {
            open.push_back(&pair);
        }
        if (open.size() == most || (&pair == &pairs.back() && !open.empty())) {
            search(plan, open);
            open.clear();
        }
    }
    for (const FreedAllocation &pair : pairs) {
        if (!pair.follows) {
            misuse("a free node does not follow its allocation node: " +
                   plan.steps[pair.free].node->describe());
        }
    }
}

std::shared_ptr<Plan> plan_of(const Graph &graph, Rules &rules) {
    auto plan = std::make_shared<Plan>();
    plan->steps = steps_of(graph);
    plan->order = any_order(*plan, [](std::size_t) { return std::size_t(0); });
    if (plan->order.size() != plan->steps.size()) {
        std::vector<bool> runs(plan->steps.size());
        for (const std::size_t i : plan->order) {
            runs[i] = true;
        }
        explain("Graph cycle detected");
        const auto stuck = std::find(runs.begin(), runs.end(), false) - runs.begin();
        throw PlanProblem{invalid_structure, CUDA_ERROR_INVALID_VALUE,
                          plan->steps[static_cast<std::size_t>(stuck)].node, "a cycle"};
    }
    note_early_frees(*plan);
    for (Step &step : plan->steps) {
        check_node(*step.node, rules);
        Rules inner = rules;
        inner.in_body = rules.in_body || step.type() == conditional_node;
        for (const CUgraph body : step.node->graphs) {
            step.plans.push_back(plan_of(*body, inner));
        }
        rules.context = inner.context;
    }
    for (const auto &condition : graph.conditions) {
        if (!condition->used) {
            throw PlanProblem{unused_handle, CUDA_ERROR_INVALID_VALUE, nullptr,
                              "a conditional handle that no node uses"};
        }
        plan->conditions.push_back(
            {condition, condition->default_value, condition->assign_default});
    }
    return plan;
}

bool has_work_of_kernels(const Graph &graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node *node) {
        return node->type() == CU_GRAPH_NODE_TYPE_GRAPH ? has_work_of_kernels(*node->graphs.front())
                                                        : is_work_of_kernels(node->type());
    });
}

} // namespace

std::shared_ptr<Plan> make_plan(const Graph &graph, unsigned long long flags) {
    Rules rules;
    rules.device_launch = (flags & device_launch_flag) != 0;
    if (graph.owner != nullptr) {
        explain("hGraph is owned by another graph and cannot be independently instantiated");
        throw PlanProblem{error, CUDA_ERROR_NOT_SUPPORTED, nullptr,
                          "a graph that belongs to a node"};
    }
    auto plan = plan_of(graph, rules);
    if (rules.device_launch && !has_work_of_kernels(graph)) {
        throw PlanProblem{error, CUDA_ERROR_INVALID_VALUE, nullptr,
                          "a graph for device launch without work on the device"};
    }
    return plan;
}

std::vector<std::size_t> any_order(const Plan &plan,
                                   const std::function<std::size_t(std::size_t)> &pick) {
    std::vector<std::size_t> waits_for(plan.steps.size());
    std::vector<std::vector<std::size_t>> dependents(plan.steps.size());
    std::vector<std::size_t> order; // those that have been picked, then those that can be
    order.reserve(plan.steps.size());
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        waits_for[i] = plan.steps[i].after.size();
        for (const Step::Dependency &dependency : plan.steps[i].after) {
            dependents[dependency.step].push_back(i);
        }
        if (waits_for[i] == 0) {
            order.push_back(i);
        }
    }
    for (std::size_t picked = 0; picked < order.size(); ++picked) {
        std::swap(order[picked], order[picked + pick(order.size() - picked)]);
        for (const std::size_t dependent : dependents[order[picked]]) {
            if (--waits_for[dependent] == 0) {
                order.push_back(dependent);
            }
        }
    }
    return order;
}

Plan &writable(std::shared_ptr<Plan> &plan) {
    if (plan.use_count() > 1) {
        plan = std::make_shared<Plan>(*plan);
    }
    return *plan;
}

const Step *find_step(const Plan &plan, const Node &node) {
    const Step *found = nullptr;
    for_each_step(plan, [&](const Step &step) {
        if (step.node == &node) {
            found = &step;
        }
    });
    return found;
}

Step *find_step(std::shared_ptr<Plan> &plan, const Node &node) {
    if (find_step(*plan, node) == nullptr) {
        return nullptr;
    }
    for (Step &step : writable(plan).steps) {
        if (step.node == &node) {
            return &step;
        }
        for (auto &inner : step.plans) {
            if (Step *found = find_step(inner, node)) {
                return found;
            }
        }
    }
    return nullptr;
}

} // namespace sim
