// Graphs through the runtime API, with the signatures of the headers' major version. Nodes run in
// the context that is current when they are added or set.
#include "runtime.hpp"

#include "graph.hpp"
