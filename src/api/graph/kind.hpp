// What a kind of node is. Adding a node, setting it, and setting it in an executable graph are one
// path each for all kinds (adding.cpp, exec.cpp), which call the functions of a NodeKind.
//
// A kind is a struct in kinds/, or adding.cpp, derived from KindDefaults, with these members:
//     Node                           its parameters, of cushim/detail/node_kinds.hpp
//     names                          the public functions for it, which errors name
//     native<api>(node, context)     CUDA's parameters
//     Add, Set, SetInExec            CUDA's functions that take them; each is a Both
//     Get, Native                    CUDA's function that reads them back, and their type
// It needs no functions that no public function of cushim uses. It may replace any member of
// KindDefaults: a kind for which one call is not enough replaces add(), set() or set_in_exec(), and
// then needs no Add, Set or SetInExec.
#pragma once

#include <optional>
#include <vector>

#include "api.hpp"
#include "base/with_memory.hpp"

namespace cushim::detail {

// A concept, since clang 14 rejects a requires-expression whose parameter has no type.
template <class Entry, class... Arguments>
concept Takes =
    requires(typename Entry::pfn entry, Arguments... arguments) { entry(arguments...); };

// A call of a CUDA function, with the context as an additional argument if the function has it, as
// few driver functions do.
template <class Entry, class... Arguments>
Result<void> call_with(CUcontext context, Arguments... arguments) noexcept {
    if constexpr (Takes<Entry, Arguments..., CUcontext>) {
        return call<Entry>(arguments..., context);
    } else {
        return call<Entry>(arguments...);
    }
}

// A node that is to be added.
struct NewNode {
    template <class Entry, class... Parameters>
    Result<void> add_by(Parameters... parameters) const noexcept {
        return call_with<Entry>(context, node, graph, dependencies, count, parameters...);
    }

    CUgraphNode *node; // output
    CUgraph graph;
    const CUgraphNode *dependencies;
    std::size_t count;
    CUcontext context; // of the graph
};

// The kernel of a node of an executable graph, and launch attributes that the node has.
struct KnownLaunch {
    CUfunction kernel = nullptr; // null: the driver was not asked yet
    bool is_cooperative = false;
    std::optional<int> priority = {};
    Dim3 cluster = {0, 0, 0};

    friend bool operator==(const KnownLaunch &, const KnownLaunch &) noexcept = default;
};

// A node of an executable graph.
struct NodeInExec {
    template <class Entry, class Parameters>
    Result<void> set_by(Parameters parameters) const noexcept {
        return call_with<Entry>(context, exec, node, parameters);
    }

    CUgraphExec exec;
    CUgraphNode node;
    CUcontext context;
    KnownLaunch *known = nullptr; // null: not stored
};

struct NodeNames {
    const char *add;
    const char *set = nullptr;
    const char *set_in_exec = nullptr;
    const char *work = nullptr; // what may have 0 elements: "copy"
};

struct NodeKind {
    // One API's functions for the kind. Null: no public function needs it.
    struct Calls {
        Result<void> (*add)(const NewNode &place, const void *node) noexcept;
        Result<void> (*set)(CUgraphNode node, const void *to, CUcontext context) noexcept;
        Result<void> (*set_in_exec)(const NodeInExec &node, const void *to) noexcept;
    };

    const Calls &calls(Api api) const noexcept { return calls_of[api == Api::runtime]; }

    // The result of use(uses), with all owners that the node uses: those that the header lists, or
    // those that only the kind can list.
    template <class Use>
    auto with_owners(const void *node, const NodeUses &of_header, const Use &use) const noexcept {
        if (add_owners == nullptr) [[likely]] {
            return use(of_header);
        }
        return with_memory([&] {
            std::vector<State *> states;
            add_owners(node, states);
            return use(NodeUses{states});
        });
    }

    // The members of the struct, for parameters without their type.
    NodeNames names;
    Result<bool> (*check)(const void *node) noexcept;
    void (*add_owners)(const void *node, std::vector<State *> &states); // null: see above
    Calls calls_of[2]; // of the driver, of the runtime
};

// CUDA's function that adds a node of any type.
#if CUDA_VERSION >= 12020
using GenericParameters = Both<CUgraphNodeParams, cudaGraphNodeParams>;
using AddGeneric = Both<entry::cuGraphAddNode_v1, entry::cudaGraphAddNode>;
#else
using GenericParameters = Both<void, void>;
using AddGeneric =
    Both<InNewerHeaders<"cuGraphAddNode", 12020>, InNewerHeaders<"cudaGraphAddNode", 12020>>;
#endif
template <Api api>
Result<void> add_generic_node(const NewNode &place, In<GenericParameters, api> *native) noexcept {
    if constexpr (api == Api::runtime && CUDART_VERSION >= 13000) {
        return call<In<AddGeneric, api>>(place.node, place.graph, place.dependencies, nullptr,
                                         place.count, native);
    } else {
        return needs(Feature::graph_generic_nodes, place.add_by<In<AddGeneric, api>>(native));
    }
}

// Calls use(parameters): CUDA takes structs by their address, and handles by value. A native()
// with arrays has parameters().
template <class Kind, Api api, class Use>
Result<void> with_native(const typename Kind::Node &node, CUcontext context,
                         const Use &use) noexcept {
    return with_memory([&] {
        auto native = Kind::template native<api>(node, context);
        if constexpr (requires { native.parameters(); }) {
            return use(native.parameters());
        } else if constexpr (std::is_class_v<decltype(native)>) {
            return use(&native);
        } else {
            return use(native);
        }
    });
}

// What is the same for most kinds.
template <class Kind>
struct KindDefaults {
    // The errors that can be detected here. False for a copy or a fill of 0 elements, which CUDA
    // rejects.
    static Result<bool> check(const auto &) noexcept { return true; }
    // Whether the driver needs the graph's context to be current for adding the node, and for
    // setting it in an executable graph; the runtime always does.
    static bool needs_context(const auto &) noexcept { return true; }
    // add_owners(node, states) adds the owners that the node uses, if the header cannot list them.
    static constexpr std::nullptr_t add_owners = nullptr;

    template <Api api>
    static Result<void> add(const NewNode &place, const auto &node) noexcept {
        return with_native<Kind, api>(node, place.context, [&](auto parameters) noexcept {
            return place.add_by<In<typename Kind::Add, api>>(parameters);
        });
    }
    template <Api api>
    static Result<void> set(CUgraphNode node, const auto &to, CUcontext context) noexcept {
        return with_native<Kind, api>(to, context, [&](auto parameters) noexcept {
            return call<In<typename Kind::Set, api>>(node, parameters);
        });
    }
    template <Api api>
    static Result<void> set_in_exec(const NodeInExec &node, const auto &to) noexcept {
        return with_native<Kind, api>(to, node.context, [&](auto parameters) noexcept {
            return node.set_by<In<typename Kind::SetInExec, api>>(parameters);
        });
    }
};

// --- the functions of a NodeKind, from those of a kind

template <class Kind>
const typename Kind::Node &as(const void *node) noexcept {
    return *static_cast<const typename Kind::Node *>(node);
}

// The result of call(), in the context if it is needed.
template <class Kind, Api api, class Call>
Result<void> in_context_for(CUcontext context, const void *node, const Call &call) noexcept {
    return with_context(api, context, Kind::needs_context(as<Kind>(node)), call);
}

template <class Kind, Api api>
constexpr NodeKind::Calls calls_of() noexcept {
    NodeKind::Calls calls{};
    calls.add = [](const NewNode &place, const void *node) noexcept {
        return in_context_for<Kind, api>(place.context, node, [&]() noexcept {
            return Kind::template add<api>(place, as<Kind>(node));
        });
    };
    if constexpr (Kind::names.set != nullptr) {
        calls.set = [](CUgraphNode node, const void *to, CUcontext context) noexcept {
            return Kind::template set<api>(node, as<Kind>(to), context);
        };
    }
    if constexpr (Kind::names.set_in_exec != nullptr) {
        calls.set_in_exec = [](const NodeInExec &node, const void *to) noexcept {
            return in_context_for<Kind, api>(node.context, to, [&]() noexcept {
                return Kind::template set_in_exec<api>(node, as<Kind>(to));
            });
        };
    }
    return calls;
}

template <class Kind>
inline constexpr NodeKind node_kind = {
    Kind::names,
    [](const void *node) noexcept { return Kind::check(as<Kind>(node)); },
    Kind::add_owners,
    {calls_of<Kind, Api::driver>(), calls_of<Kind, Api::runtime>()},
};

} // namespace cushim::detail
