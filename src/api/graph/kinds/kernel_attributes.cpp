// Launch attributes of kernel nodes, which separate calls set. Numbers and values are the same in
// both APIs.
#include <cushim/feature.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <vector>

#include "base/state.hpp"
#include "base/with_memory.hpp"
#include "context/requirements.hpp"
#include "graph/adding.hpp"
#include "graph/relatives.hpp"
#include "kernel.hpp"
#include "kernel/launch_config.hpp"

namespace cushim::detail {
namespace {

// A CUlaunchAttributeValue, which is missing or smaller in older headers. Unset parts are zero.
struct alignas(8) Value {
    std::array<unsigned int, 16> words = {};
};
// No clusters means clusters of one block, since CUDA rejects zeros.
constexpr Value no_clusters = {{1, 1, 1}};

struct Attribute {
    unsigned int id;
    Value value;
};
using AttributeList = std::vector<Attribute>;

// Attributes with members in LaunchConfig, by number: older headers lack some names.
constexpr unsigned int cooperative = 2, cluster = 4, priority = 8; // CU_LAUNCH_ATTRIBUTE_...
struct Member {
    unsigned int id;
    const char *name;
    std::size_t words; // size of the value
    Feature needed;    // driver feature required for nodes
    Value unset;       // of a node without it
};
constexpr Member members[] = {
    {cooperative, "LaunchConfig::cooperative", 1, Feature::graphs, {}},
    {cluster, "LaunchConfig::cluster", 3, Feature::graph_node_launch_attributes, no_clusters},
    {priority, "LaunchConfig::priority", 1, Feature::graph_node_priorities, {}},
};
#if CUDA_VERSION >= 12000
static_assert(int(cudaLaunchAttributeCooperative) == cooperative);
static_assert(int(cudaLaunchAttributeClusterDimension) == cluster);
static_assert(int(cudaLaunchAttributePriority) == priority);
#endif

// The element with this `id`; null if it does not exist.
template <class Elements>
auto find(const Elements &elements, unsigned int id) noexcept -> decltype(std::data(elements)) {
    for (const auto &element : elements) {
        if (element.id == id) {
            return &element;
        }
    }
    return nullptr;
}

bool is_same(const Member &of, const Value &a, const Value &b) noexcept {
    return std::equal(a.words.begin(), a.words.begin() + of.words, b.words.begin());
}

// As in LaunchConfig.
Text text_of(const Member &of, const Value &value) noexcept {
    const auto &words = value.words;
    Text text;
    if (of.id == cooperative) {
        std::snprintf(text.characters, sizeof text.characters, words[0] != 0 ? "true" : "false");
    } else if (of.id == cluster) {
        std::snprintf(text.characters, sizeof text.characters, "%u x %u x %u", words[0], words[1],
                      words[2]);
    } else {
        std::snprintf(text.characters, sizeof text.characters, "%d", static_cast<int>(words[0]));
    }
    return text;
}

// The attributes that a configuration requests; requires_newer_driver or requires_newer_headers for
// those that nodes do not support.
Result<AttributeList> requested(const LaunchConfig &config) {
    AttributeList list;
    if (!asks_for_attributes(config)) {
        return list;
    }
#if CUDA_VERSION >= 11080
    NativeLaunch launch;
    CUSHIM_TRY_VOID(launch.fill(config, nullptr));
    for (const CUlaunchAttribute &attribute :
         std::span(launch.get()->attrs, launch.get()->numAttrs)) {
        const Member *const known = find(members, attribute.id);
        CUSHIM_TRY_VOID(require_feature(known != nullptr ? known->needed
                                                         : Feature::graph_node_launch_attributes));
        if (attribute.id != CU_LAUNCH_ATTRIBUTE_IGNORE) {
            list.push_back(
                {static_cast<unsigned int>(attribute.id), std::bit_cast<Value>(attribute.value)});
        }
    }
    return list;
#else
    return Error::requires_newer_headers("CUlaunchAttribute", Version::of(11, 8));
#endif
}

#if CUDA_VERSION >= 12000
using GetAttribute =
    Both<entry::cuGraphKernelNodeGetAttribute, entry::cudaGraphKernelNodeGetAttribute>;
using SetAttribute =
    Both<entry::cuGraphKernelNodeSetAttribute, entry::cudaGraphKernelNodeSetAttribute>;
using AttributeId = Both<CUkernelNodeAttrID, cudaLaunchAttributeID>;
using AttributeValue = Both<CUkernelNodeAttrValue, cudaLaunchAttributeValue>;
#else
using GetAttribute = Both<entry::cuGraphKernelNodeGetAttribute, NoKernels>;
using SetAttribute = Both<entry::cuGraphKernelNodeSetAttribute, NoKernels>;
using AttributeId = Both<CUkernelNodeAttrID, CUkernelNodeAttrID>;
using AttributeValue = Both<CUkernelNodeAttrValue, CUkernelNodeAttrValue>;
#endif

Result<Value> get(const KernelChange &of, unsigned int id) noexcept {
    Value found;
    CUSHIM_TRY_VOID(by_api(of.api, [&](auto api) {
        return call<In<GetAttribute, api>>(of.node, static_cast<In<AttributeId, api>>(id),
                                           reinterpret_cast<In<AttributeValue, api> *>(&found));
    }));
    return id == cluster && found.words[0] == 0 ? no_clusters : found;
}

Result<void> set(const KernelChange &of, const Attribute &to) noexcept {
    return by_api(of.api, [&](auto api) {
        return call<In<SetAttribute, api>>(
            of.node, static_cast<In<AttributeId, api>>(to.id),
            reinterpret_cast<const In<AttributeValue, api> *>(&to.value));
    });
}

// The value of an attribute that is not requested. A kernel may be compiled for clusters.
Result<Value> default_of(const Member &of, const KernelChange &change) noexcept {
    constexpr unsigned int required_cluster_width =
        11; // CU_FUNC_ATTRIBUTE_..., then height and depth
    Value value = of.unset;
    for (unsigned int index = 0; of.id == cluster && index < of.words; ++index) {
        const auto attribute = static_cast<CUfunction_attribute>(required_cluster_width + index);
        CUSHIM_TRY(const int size,
                   change.to.kernel.attribute(Context::borrow(change.context), attribute));
        value.words[index] = size > 0 ? static_cast<unsigned int>(size) : 1;
    }
    return value;
}

// Calls use(member, found, default) for each attribute that the node has, but that is not
// requested.
template <class Use>
Result<void> each_unwanted(const KernelChange &change, const AttributeList &wanted,
                           const Use &use) noexcept {
    for (const Member &member : members) {
        if (find(wanted, member.id) != nullptr || !supports(driver_version(), member.needed)) {
            continue;
        }
        CUSHIM_TRY(const Value found, get(change, member.id));
        if (is_same(member, found, member.unset)) {
            continue;
        }
        CUSHIM_TRY(const Value usual, default_of(member, change));
        if (!is_same(member, found, usual)) {
            CUSHIM_TRY_VOID(use(member, found, usual));
        }
    }
    return {};
}

// Changes attributes and restores them in reverse order unless they are kept.
class AttributeChanges {
  public:
    // Reserves room for this number of changes, so that nothing can fail once one is made.
    AttributeChanges(const KernelChange &of, std::size_t most) : of_(of) { before_.reserve(most); }
    AttributeChanges(const AttributeChanges &) = delete;
    AttributeChanges &operator=(const AttributeChanges &) = delete;
    ~AttributeChanges() { take_back(); }

    Result<void> set(const Attribute &to) noexcept {
        CUSHIM_TRY(const Value before, get(of_, to.id));
        CUSHIM_TRY_VOID(detail::set(of_, to));
        before_.push_back({to.id, before});
        return {};
    }
    void keep() noexcept { before_.clear(); }
    void take_back() noexcept {
        for (; !before_.empty(); before_.pop_back()) {
            (void)detail::set(of_, before_.back());
        }
    }

  private:
    const KernelChange &of_;
    AttributeList before_;
};

// Previous parameters of a kernel node, for restoring them. CUDA does not return argument sizes, so
// the copy is a node in a separate graph.
class KernelCopy {
  public:
    KernelCopy() noexcept = default;
    KernelCopy(const KernelCopy &) = delete;
    KernelCopy &operator=(const KernelCopy &) = delete;
    ~KernelCopy() {
        if (graph_ != nullptr) {
            report_teardown(destroy_guarded<entry::cuGraphDestroy>(graph_));
        }
    }

    Result<void> take(CUgraphNode from) noexcept {
        CUgraph graph = nullptr;
        CUSHIM_TRY_VOID(call<entry::cuGraphCreate>(&graph, 0));
        graph_ = graph;
        return with_parameters_of(from, [this]<class Kernels>(Kernels, auto &native) noexcept {
            return call<typename Kernels::Add>(&node_, graph_, nullptr, 0, accepted(native));
        });
    }
    void restore(CUgraphNode to) const noexcept {
        (void)with_parameters_of(node_, [to]<class Kernels>(Kernels, auto &native) noexcept {
            return call<typename Kernels::Set>(to, accepted(native));
        });
    }

  private:
    // CUDA returns two handles of a library kernel, but accepts only one.
    template <class Native>
    static Native *accepted(Native &native) noexcept {
        if constexpr (requires { native.kern; }) {
            native.func = native.kern == nullptr ? native.func : nullptr;
        }
        return &native;
    }

    CUgraph graph_ = nullptr;
    CUgraphNode node_ = nullptr;
};

Error cannot_change(const Member &of, const Value &found, const Value &to) noexcept {
    char detail[480];
    std::snprintf(detail, sizeof detail,
                  "%s is %s, but the node was instantiated with %s; an executable graph cannot "
                  "change it: set it in the Graph and instantiate again",
                  of.name, text_of(of, to).c_str(), text_of(of, found).c_str());
    return Error::unsupported_platform(detail);
}
Error cannot_change(unsigned int id) noexcept {
    char detail[200];
    std::snprintf(detail, sizeof detail,
                  "LaunchConfig::more has launch attribute %u, which an executable graph cannot "
                  "change; change it in the Graph and instantiate again",
                  id);
    return Error::unsupported_platform(detail);
}

} // namespace

Result<void> add_with_attributes(Api api, const NewNode &place, const KernelNode &node,
                                 Result<void> (*add)(const NewNode &,
                                                     const KernelNode &) noexcept) noexcept {
    return with_memory([&]() -> Result<void> {
        CUSHIM_TRY(const AttributeList wanted, requested(node.config));
        CUSHIM_TRY_VOID(add(place, node));
        for (const Attribute &attribute : wanted) {
            const Result<void> done = set({api, *place.node, node, place.context}, attribute);
            if (!done) {
                if (destroy_native_node(api, *place.node)) {
                    *place.node = nullptr;
                }
                return done;
            }
        }
        return {};
    });
}

Result<void> require_same_attributes(const KernelChange &change) noexcept {
    return with_memory([&]() -> Result<void> {
        CUSHIM_TRY(const AttributeList wanted, requested(change.to.config));
        for (const Attribute &attribute : wanted) {
            const Member *const member = find(members, attribute.id);
            if (member == nullptr) {
                return cannot_change(attribute.id);
            }
            CUSHIM_TRY(const Value found, get(change, attribute.id));
            if (!is_same(*member, found, attribute.value)) {
                return cannot_change(*member, found, attribute.value);
            }
        }
        return each_unwanted(
            change, wanted,
            [](const Member &member, const Value &found, const Value &usual) -> Result<void> {
                return cannot_change(member, found, usual);
            });
    });
}

Result<void> change_kernel(const KernelChange &change,
                           Result<void> (*set_parameters)(const KernelChange &) noexcept) noexcept {
    return with_memory([&]() -> Result<void> {
        CUSHIM_TRY(const AttributeList wanted, requested(change.to.config));
        // Old attributes, parameters, new attributes: an order in which every step is valid. On
        // failure, the steps before are taken back in reverse order.
        AttributeChanges less(change, std::size(members)), more(change, wanted.size());
        CUSHIM_TRY_VOID(each_unwanted(change, wanted,
                                      [&](const Member &member, const Value &, const Value &usual) {
                                          return less.set({member.id, usual});
                                      }));
        KernelCopy before;
        if (!wanted.empty()) {
            CUSHIM_TRY_VOID(before.take(change.node));
        }
        CUSHIM_TRY_VOID(set_parameters(change));
        for (const Attribute &attribute : wanted) {
            Result<void> done = more.set(attribute);
            if (!done) {
                more.take_back();
                before.restore(change.node);
                return done;
            }
        }
        more.keep();
        less.keep();
        return {};
    });
}

} // namespace cushim::detail
