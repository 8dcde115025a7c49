// Graphs as text for Graphviz: CUDA writes a temporary file, which cushim reads and removes.
#include "harness/graph_scenario.hpp"

#include <cushim/override.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

using namespace api_test;
using namespace cushim;
using support::ok;

namespace {

#ifndef _WIN32
// An empty folder for temporary files during the lifetime of the object.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        if (const char *const before = std::getenv(variable)) {
            before_ = before;
        }
        path_ = (std::filesystem::temp_directory_path() / "cushim-test-XXXXXX").string();
        REQUIRE(mkdtemp(path_.data()) != nullptr);
        setenv(variable, path_.c_str(), 1);
    }
    ~TemporaryFolder() {
        if (before_) {
            setenv(variable, before_->c_str(), 1);
        } else {
            unsetenv(variable);
        }
        remove();
    }
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;

    bool is_empty() const { return std::filesystem::is_empty(path_); }
    void remove() const { std::filesystem::remove_all(path_); }

  private:
    static constexpr const char *variable = "TMPDIR";
    std::optional<std::string> before_;
    std::string path_;
};
#endif

void check_failed(const Result<std::string> &drawing, const std::string &why) {
    check_refused(drawing, why, ErrorKind::status);
    CHECK(drawing.error().status() == CUDA_ERROR_OPERATING_SYSTEM);
}

} // namespace

NODE_SCENARIO_TEST("debug_dot() returns a digraph", "[graph]") {
    CUSHIM_TRY(const GraphNode a, graph.add_empty_node({}));
    CUSHIM_TRY_VOID(graph.add_empty_node(a));
    CUSHIM_TRY(const std::string drawing, graph.debug_dot());
    CHECK(drawing.starts_with("digraph"));
    CHECK(contains(drawing, "->"));
    CUSHIM_TRY(const std::string more, graph.debug_dot(CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
    CHECK(more.starts_with("digraph"));
    return {};
}

GRAPH_TEST_CASE("debug_dot() returns all text of a large graph", "[graph]") {
    const auto [context, graph] = make_graph(api);
    GraphNode last = ok(graph.add_empty_node({}));
    for (int count = 0; count < 500; ++count) {
        last = ok(graph.add_empty_node(last));
    }
    const std::string drawing = ok(graph.debug_dot());
    CHECK(drawing.size() > 10'000);
    CHECK(drawing.starts_with("digraph"));
    const std::size_t end = drawing.find_last_not_of(" \n");
    REQUIRE(end != std::string::npos);
    CHECK(drawing[end] == '}');
}

TEST_CASE("debug_dot() fails if CUDA removes the file", "[graph]") {
    const auto [context, graph] = make_graph(Api::driver);
    const ScopedOverride<entry::cuGraphDebugDotPrint> without_a_file(
        [](CUgraph, const char *path, unsigned int) {
            std::remove(path);
            return CUDA_SUCCESS;
        });
    check_failed(graph.debug_dot(), "the temporary file that CUDA wrote cannot be read");
}

#ifndef _WIN32
TEST_CASE("debug_dot() fails if reading the file fails", "[graph]") {
    const auto [context, graph] = make_graph(Api::driver);
    const TemporaryFolder folder;
    // A folder can be opened but not read.
    const ScopedOverride<entry::cuGraphDebugDotPrint> as_a_folder(
        [](CUgraph, const char *path, unsigned int) {
            std::filesystem::remove(path);
            std::filesystem::create_directory(path);
            return CUDA_SUCCESS;
        });
    check_failed(graph.debug_dot(), "the temporary file that CUDA wrote cannot be read");
}

TEST_CASE("debug_dot() fails if no temporary file can be made", "[graph]") {
    const auto [context, graph] = make_graph(Api::driver);
    const TemporaryFolder folder;
    folder.remove();
    check_failed(graph.debug_dot(), "temporary file");
}

GRAPH_TEST_CASE("debug_dot() removes its temporary file", "[graph]") {
    const auto [context, graph] = make_graph(api);
    const TemporaryFolder folder;
    CHECK(graph.debug_dot().has_value());
    CHECK(folder.is_empty());
    if (simulator() != nullptr) {
        always_fail_after(graph_call(api, "DebugDotPrint").c_str());
        CHECK_FALSE(graph.debug_dot().has_value());
        CHECK(folder.is_empty());
    }
}
#endif
