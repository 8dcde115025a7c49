// Functions of the host's whose copies cannot be made.
#include "harness/memory.hpp"

#include <new>
#include <stdexcept>

using namespace api_test;
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
    CHECK(error_of(stream.launch_host_function(function)).kind() == ErrorKind::out_of_memory);
    CHECK(error_of(graph.add_host_node({}, function)).kind() == ErrorKind::out_of_memory);
}

} // namespace

TEST_CASE("a function whose copy throws is refused, and the program goes on", "[closure]") {
    const auto context = context_after_restart("");
    const auto stream = required(Stream::create(context));
    const auto graph = required(Graph::create(context));
    check_refused<std::bad_alloc>(stream, graph);
    check_refused<std::runtime_error>(stream, graph);
    CHECK(graph.node_count().value() == 0);
    CHECK(stream.synchronize().has_value());
}
