// Functions of the host's whose copies cannot be made.
#include "harness/memory.hpp"

#include <new>
#include <stdexcept>

using namespace cushim;

namespace {

template <class Exception>
struct Unwilling {
    Unwilling() = default;
    Unwilling(const Unwilling &) { refuse(); }
    void operator()() const {}

  private:
    [[noreturn]] static void refuse() {
        if constexpr (std::is_same_v<Exception, std::bad_alloc>) {
            throw std::bad_alloc();
        } else {
            throw Exception("it is not copied");
        }
    }
};

template <class Exception>
void check_refused(const Stream &stream, const Graph &graph) {
    const Unwilling<Exception> function;
    CHECK(detail::make_closure(function).object == nullptr);
    const auto launched = stream.launch_host_function(function);
    REQUIRE_FALSE(launched.has_value());
    CHECK(launched.error().kind() == ErrorKind::out_of_memory);
    const auto added = graph.add_host_node({}, function);
    REQUIRE_FALSE(added.has_value());
    CHECK(added.error().kind() == ErrorKind::out_of_memory);
}

} // namespace

TEST_CASE("a function whose copy throws is refused, and the program goes on", "[closure]") {
    api_test::restart("");
    const auto context = api_test::Trial::context();
    REQUIRE(context.has_value());
    const auto stream = Stream::create(*context);
    REQUIRE(stream.has_value());
    const auto graph = Graph::create(*context);
    REQUIRE(graph.has_value());
    check_refused<std::bad_alloc>(*stream, *graph);
    check_refused<std::runtime_error>(*stream, *graph);
    CHECK(graph->node_count().value() == 0);
    CHECK(stream->synchronize().has_value());
}
