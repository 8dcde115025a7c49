// What of a step of an executable graph may change, and changing it.
#pragma once

#include "graph/graph_plan.hpp"

namespace sim {

// CUgraphExecUpdateResult: 0 where the step can do that instead.
int change_problem(const Step &step, const NodeContent &content, unsigned long long exec_flags);

// Why an executable graph cannot become like another graph.
struct UpdateProblem {
    int result; // CUgraphExecUpdateResult
    Node *node = nullptr;
    Node *from = nullptr; // of an edge to node
};
// Throws an UpdateProblem, before anything is changed.
void update_plan(std::shared_ptr<Plan> &plan, const Graph &graph, unsigned long long exec_flags);

} // namespace sim
