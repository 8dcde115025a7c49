#include "kernel_nodes.hpp"

#include <cushim/feature.hpp>
#include <cushim/loader.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <span>

#include "context/requirements.hpp"
#include "kernel/launch_config.hpp"

namespace cushim::detail {
namespace {

// Attributes with members in LaunchConfig, by number: older headers lack some names.
constexpr unsigned int cooperative = 2, cluster = 4, priority = 8; // CU_LAUNCH_ATTRIBUTE_...
struct Member {
    unsigned int id;
    const char *name;
    std::size_t words; // size of the value
    Feature needed;    // driver feature required for nodes
};
constexpr Member members[] = {
    {cooperative, "LaunchConfig::cooperative", 1, Feature::graphs},
    {cluster, "LaunchConfig::cluster", 3, Feature::graph_node_launch_attributes},
    {priority, "LaunchConfig::priority", 1, Feature::graph_node_priorities},
};

const Member *member(unsigned int id) noexcept {
    const auto *const found =
        std::find_if(std::begin(members), std::end(members),
                     [id](const Member &candidate) { return candidate.id == id; });
    return found != std::end(members) ? found : nullptr;
}

// The attributes that a configuration requests.
class Wanted {
  public:
    // requires_newer_driver or requires_newer_headers for attributes that nodes do not support.
    Result<void> fill(const LaunchConfig &config) noexcept {
        if (!asks_for_attributes(config)) {
            return {};
        }
#if CUDA_VERSION >= 11080
        CUSHIM_TRY_VOID(launch_.fill(config, nullptr));
        for (const CUlaunchAttribute &attribute : attributes()) {
            const Member *const known = member(attribute.id);
            CUSHIM_TRY_VOID(require_feature(
                known != nullptr ? known->needed : Feature::graph_node_launch_attributes));
        }
        return {};
#else
        return Error::requires_newer_headers("CUlaunchAttribute", Version::of(11, 8));
#endif
    }

#if CUDA_VERSION >= 11080
    bool empty() const noexcept { return attributes().empty(); }

    // Calls use(id, value) for each until one fails.
    template <class Use>
    Result<void> each(const Use &use) const noexcept {
        for (const CUlaunchAttribute &attribute : attributes()) {
            if (attribute.id != CU_LAUNCH_ATTRIBUTE_IGNORE) {
                CUSHIM_TRY_VOID(
                    use(attribute.id, std::bit_cast<NodeAttributeValue>(attribute.value)));
            }
        }
        return {};
    }

    bool asks_for(unsigned int id) const noexcept {
        return std::any_of(attributes().begin(), attributes().end(),
                           [id](const CUlaunchAttribute &each) { return each.id == id; });
    }

  private:
    std::span<const CUlaunchAttribute> attributes() const noexcept {
        return {launch_.get()->attrs, launch_.get()->numAttrs};
    }

    NativeLaunch launch_;
#else
    bool empty() const noexcept { return true; }
    template <class Use>
    Result<void> each(const Use &) const noexcept {
        return {};
    }
    bool asks_for(unsigned int) const noexcept { return false; }
#endif
};

bool is_same(const Member &of, const NodeAttributeValue &a, const NodeAttributeValue &b) noexcept {
    return std::equal(a.words.begin(), a.words.begin() + of.words, b.words.begin());
}

// As in LaunchConfig.
Text text_of(const Member &of, const NodeAttributeValue &value) noexcept {
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

// No clusters means clusters of one block, since CUDA rejects zeros.
constexpr NodeAttributeValue no_clusters = {{1, 1, 1}};

Result<NodeAttributeValue> get(const KernelNodeCalls &calls, CUgraphNode node,
                               unsigned int id) noexcept {
    NodeAttributeValue found;
    CUSHIM_TRY_VOID(calls.get(node, id, &found));
    return id == cluster && found.words[0] == 0 ? no_clusters : found;
}

// The default of an attribute that was not requested: clusters only as the kernel was compiled.
Result<NodeAttributeValue> default_of(const Member &of, const KernelChange &change) noexcept {
    constexpr unsigned int required_cluster_width =
        11; // CU_FUNC_ATTRIBUTE_..., then height and depth
    NodeAttributeValue value;
    for (unsigned int index = 0; of.id == cluster && index < of.words; ++index) {
        const auto attribute = static_cast<CUfunction_attribute>(required_cluster_width + index);
        CUSHIM_TRY(const int size,
                   change.to.kernel.attribute(Context::borrow(change.context), attribute));
        value.words[index] = size > 0 ? static_cast<unsigned int>(size) : 1;
    }
    return value;
}

// Calls use(id, default) for each attribute of the node that was not requested.
template <class Use>
Result<void> each_unwanted(const KernelNodeCalls &calls, const KernelChange &change,
                           const Wanted &wanted, const Use &use) noexcept {
    for (const Member &candidate : members) {
        if (wanted.asks_for(candidate.id) || !supports(driver_version(), candidate.needed)) {
            continue;
        }
        CUSHIM_TRY(const NodeAttributeValue found, get(calls, change.node, candidate.id));
        if (is_same(candidate, found,
                    candidate.id == cluster ? no_clusters : NodeAttributeValue())) {
            continue;
        }
        CUSHIM_TRY(const NodeAttributeValue usual, default_of(candidate, change));
        if (!is_same(candidate, found, usual)) {
            CUSHIM_TRY_VOID(use(candidate.id, usual));
        }
    }
    return {};
}

// Changes attributes and restores them in reverse order unless they are kept.
class Attributes {
  public:
    Attributes(const KernelNodeCalls &calls, CUgraphNode node) noexcept
        : calls_(calls), node_(node) {}
    Attributes(const Attributes &) = delete;
    Attributes &operator=(const Attributes &) = delete;
    ~Attributes() { take_back(); }

    Result<void> set(unsigned int id, const NodeAttributeValue &to) noexcept {
        CUSHIM_TRY(const NodeAttributeValue before, get(calls_, node_, id));
        CUSHIM_TRY_VOID(calls_.set(node_, id, to));
        before_[count_++] = {id, before};
        return {};
    }
    void keep() noexcept { count_ = 0; }
    void take_back() noexcept {
        while (count_ != 0) {
            const Before &last = before_[--count_];
            (void)calls_.set(node_, last.id, last.value);
        }
    }

  private:
    struct Before {
        unsigned int id;
        NodeAttributeValue value;
    };
    static constexpr std::size_t most = 40; // more than a LaunchConfig can ask for

    const KernelNodeCalls &calls_;
    const CUgraphNode node_;
    std::array<Before, most> before_;
    std::size_t count_ = 0;
};

// --- previous parameters

#if CUDA_VERSION >= 12000
// The older struct supports only kernels of modules, and is the only one in older drivers.
bool has_library_kernels() noexcept {
    return supports(driver_version(), Feature::graph_library_kernels);
}

Result<CUDA_KERNEL_NODE_PARAMS_v2> any_parameters(CUgraphNode of) noexcept {
    CUDA_KERNEL_NODE_PARAMS_v2 native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphKernelNodeGetParams, of, &native));
    if (native.kern != nullptr) {
        native.func = nullptr; // CUDA returns both but accepts only one
    }
    return native;
}
#endif

Result<CUDA_KERNEL_NODE_PARAMS_v1> module_parameters(CUgraphNode of) noexcept {
    CUDA_KERNEL_NODE_PARAMS_v1 native{};
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphKernelNodeGetParams_v1, of, &native));
    return native;
}

Result<void> add(CUgraphNode *node, CUgraph graph, CUgraphNode like) noexcept {
#if CUDA_VERSION >= 12000
    if (has_library_kernels()) {
        CUSHIM_TRY(const auto native, any_parameters(like));
        return CUSHIM_DRIVER(cuGraphAddKernelNode, node, graph, nullptr, 0, &native);
    }
#endif
    CUSHIM_TRY(const auto native, module_parameters(like));
    return CUSHIM_DRIVER(cuGraphAddKernelNode_v1, node, graph, nullptr, 0, &native);
}

Result<void> set(CUgraphNode node, CUgraphNode like) noexcept {
#if CUDA_VERSION >= 12000
    if (has_library_kernels()) {
        CUSHIM_TRY(const auto native, any_parameters(like));
        return CUSHIM_DRIVER(cuGraphKernelNodeSetParams, node, &native);
    }
#endif
    CUSHIM_TRY(const auto native, module_parameters(like));
    return CUSHIM_DRIVER(cuGraphKernelNodeSetParams_v1, node, &native);
}

// Previous parameters of a kernel node, for restoring them. Through driver functions for both APIs,
// since libcudart does not return all kernels.
class KernelCopy {
  public:
    KernelCopy() noexcept = default;
    KernelCopy(const KernelCopy &) = delete;
    KernelCopy &operator=(const KernelCopy &) = delete;
    ~KernelCopy() {
        if (graph_ != nullptr) {
            report_teardown(driver_graphs.destroy(graph_));
        }
    }

    // CUDA does not return argument sizes, so the copy is a node in a separate graph.
    Result<void> take(CUgraphNode from) noexcept {
        CUgraph graph = nullptr;
        CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuGraphCreate, &graph, 0));
        graph_ = graph;
        return add(&node_, graph_, from);
    }
    void restore(CUgraphNode to) const noexcept { (void)set(to, node_); }

  private:
    CUgraph graph_ = nullptr;
    CUgraphNode node_ = nullptr;
};

} // namespace

Result<void> set_asked_attributes(const KernelNodeCalls &calls, CUgraphNode node,
                                  const LaunchConfig &config) noexcept {
    Wanted wanted;
    CUSHIM_TRY_VOID(wanted.fill(config));
    return wanted.each([&](unsigned int id, const NodeAttributeValue &value) noexcept {
        return calls.set(node, id, value);
    });
}

Result<void> require_same_attributes(const KernelNodeCalls &calls,
                                     const KernelChange &change) noexcept {
    const auto refused = [&](unsigned int id,
                             const NodeAttributeValue &value) noexcept -> Result<void> {
        const Member *const known = member(id);
        char detail[480];
        if (known != nullptr) {
            CUSHIM_TRY(const NodeAttributeValue found, get(calls, change.node, id));
            std::snprintf(detail, sizeof detail,
                          "%s is %s, but the node was instantiated with %s; an executable graph "
                          "cannot change it: set it in the Graph and instantiate again",
                          known->name, text_of(*known, value).c_str(),
                          text_of(*known, found).c_str());
        } else {
            std::snprintf(detail, sizeof detail,
                          "LaunchConfig::more has launch attribute %u, which an executable graph "
                          "cannot change; change it in the Graph and instantiate again",
                          id);
        }
        return Error::unsupported_platform(detail);
    };
    Wanted wanted;
    CUSHIM_TRY_VOID(wanted.fill(change.to.config));
    CUSHIM_TRY_VOID(
        wanted.each([&](unsigned int id, const NodeAttributeValue &value) noexcept -> Result<void> {
            const Member *const known = member(id);
            if (known == nullptr) {
                return refused(id, value);
            }
            CUSHIM_TRY(const NodeAttributeValue found, get(calls, change.node, id));
            return is_same(*known, found, value) ? Result<void>() : refused(id, value);
        }));
    return each_unwanted(calls, change, wanted, refused);
}

Result<void> change_kernel(const KernelNodeCalls &calls, const KernelChange &change) noexcept {
    Wanted wanted;
    CUSHIM_TRY_VOID(wanted.fill(change.to.config));
    // Old attributes, parameters, new attributes: an order in which every step is valid.
    Attributes less(calls, change.node);
    CUSHIM_TRY_VOID(each_unwanted(calls, change, wanted,
                                  [&](unsigned int id, const NodeAttributeValue &usual) noexcept {
                                      return less.set(id, usual);
                                  }));
    KernelCopy before;
    if (!wanted.empty()) {
        CUSHIM_TRY_VOID(before.take(change.node));
    }
    CUSHIM_TRY_VOID(calls.set_parameters(change.node, change.to, change.context));
    Attributes more(calls, change.node);
    Result<void> done = wanted.each([&](unsigned int id, const NodeAttributeValue &value) noexcept {
        return more.set(id, value);
    });
    if (done) {
        more.keep();
        less.keep();
    } else {
        more.take_back();
        before.restore(change.node);
    }
    return done;
}

} // namespace cushim::detail
