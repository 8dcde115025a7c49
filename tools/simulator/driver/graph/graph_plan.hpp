// The contents of an executable graph: a snapshot of its graph's nodes, in an order in which they
// can run.
#pragma once

#include "engine/graph.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sim {

struct Plan;

struct Step {
    CUgraphNode_st *node; // the node it was created from; never dereferenced
    NodeContent content;
    struct Dependency {
        std::size_t step; // its index in the plan
        EdgeData data;
    };
    std::vector<Dependency> after; // in order of addition
    bool enabled = true;
    std::vector<std::shared_ptr<Plan>> plans; // of the child graph or the bodies

    CUgraphNodeType type() const noexcept { return content.work.type; }
};

struct Plan {
    std::vector<Step> steps;        // in the order in which the nodes were added
    std::vector<std::size_t> order; // every step follows its dependencies
    struct Condition {
        std::shared_ptr<Conditional> condition;
        unsigned int default_value;
        bool assign_default;
    };
    std::vector<Condition> conditions; // conditions with handles created for this graph
};

// Why a graph cannot be instantiated.
struct PlanProblem {
    int result; // CUgraphInstantiateResult
    CUresult status;
    CUgraphNode_st *node;
    std::string text;
};
// Throws a PlanProblem.
std::shared_ptr<Plan> make_plan(const Graph &graph, unsigned long long flags);
// The steps in an order that `pick(n)` chooses by returning a number below n.
std::vector<std::size_t> any_order(const Plan &plan,
                                   const std::function<std::size_t(std::size_t)> &pick);

// A modifiable plan: copied if a running launch shares it.
Plan &writable(std::shared_ptr<Plan> &plan);
// The step of a node in the plan or its nested plans, which become modifiable. Null if there is
// none.
Step *find_step(std::shared_ptr<Plan> &plan, const Node &node);
const Step *find_step(const Plan &plan, const Node &node);

// Calls function(step) for all steps, including those of nested plans.
template <class Function>
void for_each_step(const Plan &plan, const Function &function) {
    for (const Step &step : plan.steps) {
        function(step);
        for (const auto &inner : step.plans) {
            for_each_step(*inner, function);
        }
    }
}

} // namespace sim
