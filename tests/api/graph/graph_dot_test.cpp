// Graphs as text for Graphviz.
#include "harness/graph_scenario.hpp"
#include "harness/temporary_file.hpp"

#include <fstream>
#include <iterator>
#include <string>

using namespace api_test;
using namespace cushim;

namespace {

Result<std::string> drawing_of(const Graph &graph, unsigned int flags = 0) {
    const TemporaryFile file("what the file contained before");
    CUSHIM_TRY_VOID(graph.debug_dot(file.path(), flags));
    std::ifstream drawing(file.path());
    return std::string(std::istreambuf_iterator<char>(drawing), {});
}

} // namespace

GRAPH_SCENARIO_TEST("debug_dot() writes a digraph", "[graph]", (Graph &graph)) {
    CUSHIM_TRY(const GraphNode a, graph.add_empty_node({}));
    CUSHIM_TRY_VOID(graph.add_empty_node(a));
    CUSHIM_TRY(const std::string drawing, drawing_of(graph));
    CHECK(drawing.starts_with("digraph"));
    CHECK(contains(drawing, "->"));
    CUSHIM_TRY(const std::string more, drawing_of(graph, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    CHECK(more.starts_with("digraph"));
    return {};
}

GRAPH_TEST_CASE("debug_dot() writes all text of a large graph", "[graph]", (Api api)) {
    auto [context, graph] = make_graph(api);
    GraphNode last = ok(graph.add_empty_node({}));
    for (int count = 0; count < 500; ++count) {
        last = ok(graph.add_empty_node(last));
    }
    const std::string drawing = ok(drawing_of(graph));
    CHECK(drawing.size() > 10'000);
    CHECK(drawing.starts_with("digraph"));
    const std::size_t end = drawing.find_last_not_of(" \n");
    REQUIRE(end != std::string::npos);
    CHECK(drawing[end] == '}');
}

GRAPH_TEST_CASE("debug_dot() fails if the file cannot be written", "[graph]", (Api api)) {
    auto [context, graph] = make_graph(api);
    const auto written = graph.debug_dot("/nonexistent/graph.dot");
    check_refused(written, "the file cannot be written", ErrorKind::status);
    CHECK(written.error().status() == CUDA_ERROR_OPERATING_SYSTEM);
}
