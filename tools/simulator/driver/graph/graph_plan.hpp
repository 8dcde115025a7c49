// What an executable graph holds of the graph that it was made of: its nodes as they were, in an
// order in which they can run.
#pragma once

#include "engine/graph.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sim {

struct Plan;

struct Step {
    CUgraphNode_st *node; // of which it was made; compared only
    NodeContent content;
    struct Dependency {
        std::size_t step; // its index in the plan
        EdgeData data;
    };
    std::vector<Dependency> after; // in the order in which they were added
    bool enabled = true;
    std::vector<std::shared_ptr<Plan>> plans; // of the child, or of the bodies

    CUgraphNodeType type() const noexcept { return content.work.type; }
};

struct Plan {
    std::vector<Step> steps;        // in the order in which the nodes were added
    std::vector<std::size_t> order; // each after those that it depends on
    struct Condition {
        std::shared_ptr<Conditional> condition;
        unsigned int default_value;
        bool assign_default;
    };
    std::vector<Condition> conditions; // whose handles were made for this graph
};

// Why a graph cannot be made a plan of.
struct PlanProblem {
    int result; // CUgraphInstantiateResult
    CUresult status;
    CUgraphNode_st *node;
    std::string text;
};
// Throws a PlanProblem.
std::shared_ptr<Plan> make_plan(const Graph &graph, unsigned long long flags);
// The same steps in an order picked by `pick(n)`, which returns a number below n.
std::vector<std::size_t> any_order(const Plan &plan,
                                   const std::function<std::size_t(std::size_t)> &pick);

// A plan that may be changed: its own copy, where a launch in flight shares it.
Plan &writable(std::shared_ptr<Plan> &plan);
// The step of a node, in the plan or those within, in a plan that may be changed. Null: there is
// none.
Step *find_step(std::shared_ptr<Plan> &plan, const Node &node);
const Step *find_step(const Plan &plan, const Node &node);

// Calls function(step) for all steps, those of plans within included.
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
