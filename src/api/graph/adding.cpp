// Adding, setting and destroying nodes.
#include "adding.hpp"

#include <cushim/graph.hpp>

#include <cstdio>
#include <new>

#include "base/explained.hpp"
#include "relatives.hpp"

namespace cushim {
namespace detail {
namespace {

struct EmptyKind : KindDefaults<EmptyKind> {
    using Node = EmptyNode;
    static constexpr NodeNames names = {"Graph::add_empty_node"};

    static bool needs_context(const EmptyNode &) noexcept { return false; }
    template <Api api>
    static Result<void> add(const NewNode &place, const EmptyNode &) noexcept {
        using Add = Both<entry::cuGraphAddEmptyNode, entry::cudaGraphAddEmptyNode>;
        return place.add_by<In<Add, api>>();
    }
};

struct RawKind : KindDefaults<RawKind> {
    using Node = RawNode;
    static constexpr NodeNames names = {"Graph::add_node_raw"};

    static Result<bool> check(const RawNode &node) noexcept {
        return node.parameters != nullptr ? Result<bool>(true)
                                          : Error::invalid_argument("the parameters are null");
    }
    template <Api api>
    static Result<void> add(const NewNode &place, const RawNode &node) noexcept {
        return add_generic_node<api>(place,
                                     static_cast<In<GenericParameters, api> *>(node.parameters));
    }
};

Error wrong_element(const GraphState &graph, std::span<const GraphNode> nodes,
                    const GraphNode &node, const ArrayName &name) noexcept {
    char element[60];
    std::snprintf(element, sizeof element, "%s[%zu]%s", name.array,
                  static_cast<std::size_t>(&node - nodes.data()), name.member);
    return not_of_graph(node, graph.id, element);
}

// Changes a node by `change()`, and keeps the resources that it then uses alive. `added`: of a new
// node, which may exist although the change failed.
template <class Change>
Result<void> keeping(GraphState &state, NewUses &&uses, const Change &change,
                     const CUgraphNode *added = nullptr) noexcept {
    if (state.uses().keeps(uses)) { // as for most nodes
        return change();
    }
    CUSHIM_TRY_VOID(state.uses().prepare(uses));
    Result<void> changed = change();
    if (changed || (added != nullptr && *added != nullptr) || may_be_done(changed.error())) {
        state.uses().keep(std::move(uses));
    }
    return changed;
}

} // namespace

const NodeKind &kind_of(const EmptyNode &) noexcept {
    return node_kind<EmptyKind>;
}
const NodeKind &kind_of(const RawNode &) noexcept {
    return node_kind<RawKind>;
}

Result<void> NodeHandles::fill(const GraphState &graph, std::span<const GraphNode> nodes,
                               const ArrayName &name) noexcept {
    CUgraphNode *to = few_.data();
    if (nodes.size() > few_.size()) {
        many_.reset(new (std::nothrow) CUgraphNode[nodes.size()]);
        to = many_.get();
        if (to == nullptr) {
            return no_host_memory();
        }
    }
    for (const GraphNode &node : nodes) {
        if (!graph.has(node)) [[unlikely]] {
            return wrong_element(graph, nodes, node, name);
        }
        to[count_++] = node.native();
    }
    return {};
}

// --- the path of every new node

Result<GraphNode> add_node(const Graph &graph, std::span<const GraphNode> before,
                           const NodeParameters &node, const NodeUses &uses) noexcept {
    NewUses owners(uses);
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    CUSHIM_TRY(const bool has_elements, node.kind.check(node.values));
    if (!has_elements) [[unlikely]] {
        return add_node(graph, before, EmptyNode(), no_uses);
    }
    NodeHandles handles;
    CUSHIM_TRY_VOID(handles.fill(*state, before, {"dependencies"}));
    CUgraphNode added = nullptr;
    const auto add = [&]() noexcept {
        return node.kind.calls(state->api)
            .add({&added, state->graph, handles.data(), handles.size(), state->context},
                 node.values);
    };
    CUSHIM_TRY_VOID(keeping(*state, std::move(owners), add, &added));
    return state->name(added);
}

Result<void> check_replacement(const NodeParameters &to, const char *remedy) noexcept {
    CUSHIM_TRY(const bool has_elements, to.kind.check(to.values));
    return has_elements ? Result<void>()
                        : invalid_argument("the %s has 0 elements; %s", to.kind.names.work, remedy);
}

Result<void> destroy_native_node(Api api, CUgraphNode node) noexcept {
    const RelativesGuard guard;
    return call_of<Both<entry::cuGraphDestroyNode, entry::cudaGraphDestroyNode>>(api, node);
}

} // namespace detail

using namespace detail;

Result<GraphNode> Graph::add(const GraphDependencies &dependencies, const NodeParameters &node,
                             const NodeUses &uses) noexcept {
    return named(node.kind.names.add, [&]() noexcept {
        return node.kind.with_owners(node.values, uses, [&](const NodeUses &all) noexcept {
            return add_node(*this, dependencies.nodes(), node, all);
        });
    });
}

Result<GraphNode> Graph::add_node_raw(const GraphDependencies &dependencies,
                                      void *parameters) noexcept {
    return add(dependencies, RawNode{parameters});
}

// --- setting and destroying nodes

namespace {

Result<void> set_node(const Graph &graph, const GraphNode &node, const NodeParameters &to,
                      NewUses &&uses) noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    CUSHIM_TRY_VOID(state->check(node));
    CUSHIM_TRY_VOID(check_replacement(to, "to remove the node, call Graph::destroy_node()"));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return keeping(*state, std::move(uses), [&]() noexcept {
        return to.kind.calls(state->api).set(node.native(), to.values, state->context);
    });
}

Result<void> destroy_node_of(const Graph &graph, const GraphNode &node) noexcept {
    CUSHIM_TRY(GraphState *const state, state_of_graph(graph));
    CUSHIM_TRY_VOID(state->check(node));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    return with_memory([&]() -> Result<void> {
        GraphIdentity &identity = *state->identity();
        identity.prepare_to_forget(node.native());
        Result<void> destroyed =
            explained(destroy_native_node(state->api, node.native()), CUDA_ERROR_NOT_SUPPORTED,
                      "nodes of a graph with memory nodes cannot be destroyed");
        if (destroyed || may_be_done(destroyed.error())) {
            identity.forget(node.native());
        }
        return destroyed;
    });
}

} // namespace

Result<void> Graph::set(const GraphNode &node, const NodeParameters &to,
                        const NodeUses &uses) noexcept {
    return named(to.kind.names.set, [&]() noexcept {
        return to.kind.with_owners(to.values, uses, [&](const NodeUses &all) noexcept {
            return set_node(*this, node, to, NewUses(all));
        });
    });
}

Result<void> Graph::destroy_node(const GraphNode &node) noexcept {
    return named("Graph::destroy_node", destroy_node_of(*this, node));
}

} // namespace cushim
