// Permitted changes of a step of an executable graph, and their application.
#pragma once

#include "graph/graph_plan.hpp"

namespace sim {

// Returns CUgraphExecUpdateResult; 0 if the step can take the new content.
int change_problem(const Step &step, const NodeContent &content, unsigned long long exec_flags);

// Why an executable graph cannot be updated from a graph.
struct UpdateProblem {
    int result; // CUgraphExecUpdateResult
    Node *node = nullptr;
    Node *from = nullptr; // start of the edge to `node`
};
// Throws an UpdateProblem before it changes anything.
void update_plan(std::shared_ptr<Plan> &plan, const Graph &graph, unsigned long long exec_flags);

} // namespace sim
