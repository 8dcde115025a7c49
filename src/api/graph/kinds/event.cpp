// Records of events, and waits for them.
#include <cushim/event.hpp>

#include "graph/kind.hpp"
#include "graph/reading.hpp"

namespace cushim {
namespace detail {
namespace {

template <class Kind>
struct AnyEventKind : KindDefaults<Kind> {
    using Native = Both<CUevent, cudaEvent_t>;

    static bool needs_context(const auto &) noexcept { return false; }
    static Result<bool> check(const auto &node) noexcept {
        return node.event != nullptr ? Result<bool>(true)
                                     : Error::invalid_argument("the Event is empty");
    }
    template <Api api>
    static CUevent native(const auto &node, CUcontext) noexcept {
        return node.event;
    }
};

struct EventRecordKind : AnyEventKind<EventRecordKind> {
    using Node = EventRecordNode;
    static constexpr NodeNames names = {"Graph::add_event_record_node",
                                        "Graph::set_event_record_node",
                                        "GraphExec::set_event_record_node"};
    using Add = Both<entry::cuGraphAddEventRecordNode, entry::cudaGraphAddEventRecordNode>;
    using Set =
        Both<entry::cuGraphEventRecordNodeSetEvent, entry::cudaGraphEventRecordNodeSetEvent>;
    using SetInExec = Both<entry::cuGraphExecEventRecordNodeSetEvent,
                           entry::cudaGraphExecEventRecordNodeSetEvent>;
    using Get =
        Both<entry::cuGraphEventRecordNodeGetEvent, entry::cudaGraphEventRecordNodeGetEvent>;
};

struct EventWaitKind : AnyEventKind<EventWaitKind> {
    using Node = EventWaitNode;
    static constexpr NodeNames names = {"Graph::add_event_wait_node", "Graph::set_event_wait_node",
                                        "GraphExec::set_event_wait_node"};
    using Add = Both<entry::cuGraphAddEventWaitNode, entry::cudaGraphAddEventWaitNode>;
    using Set = Both<entry::cuGraphEventWaitNodeSetEvent, entry::cudaGraphEventWaitNodeSetEvent>;
    using SetInExec =
        Both<entry::cuGraphExecEventWaitNodeSetEvent, entry::cudaGraphExecEventWaitNodeSetEvent>;
    using Get = Both<entry::cuGraphEventWaitNodeGetEvent, entry::cudaGraphEventWaitNodeGetEvent>;
};

} // namespace

const NodeKind &kind_of(const EventRecordNode &) noexcept {
    return node_kind<EventRecordKind>;
}
const NodeKind &kind_of(const EventWaitNode &) noexcept {
    return node_kind<EventWaitKind>;
}

} // namespace detail

Result<Event> Graph::event_params(const GraphNode &node) const noexcept {
    using namespace detail;
    return read_params<Event>("Graph::event_params", *this, node,
                              {GraphNodeType::event_record, GraphNodeType::event_wait},
                              [](auto api, const FoundNode &found) -> Result<Event> {
                                  const auto event =
                                      found.type == GraphNodeType::event_wait
                                          ? native_params<EventWaitKind, api>(found.native)
                                          : native_params<EventRecordKind, api>(found.native);
                                  return event.transform(Event::borrow);
                              });
}

} // namespace cushim
