// Threads that share the resources of graphs: one launches an executable graph, others destroy
// clones and executable graphs of the same graph. For sanitizers: the driver is a few functions
// here, so that nothing but the wrappers synchronises the threads.
#include <cushim/cushim.hpp>
#include <cushim/override.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

using namespace cushim;

namespace {

#define REQUIRE_THAT(...)                                                                          \
    ((__VA_ARGS__) ? void() : (std::fprintf(stderr, "failed: %s\n", #__VA_ARGS__), std::abort()))

template <class T>
T ok(Result<T> result) {
    if (!result) {
        std::fprintf(stderr, "%s\n", result.error().message());
        std::abort();
    }
    return std::move(*result);
}
void ok(const Result<void> &result) {
    REQUIRE_THAT(result.has_value());
}

// --- the driver

struct UserObject {
    std::atomic<unsigned int> references;
    CUhostFn destroy;
    void *user;
};

UserObject *of(CUuserObject object) {
    return reinterpret_cast<UserObject *>(object);
}

void drop(UserObject *object) {
    if (object->references.fetch_sub(1) == 1) {
        object->destroy(object->user);
        delete object;
    }
}

// A graph or an executable graph: at most one reference to one user object.
struct Holder {
    UserObject *object = nullptr;
    ~Holder() {
        if (object != nullptr) {
            drop(object);
        }
    }
};

template <class Handle>
CUresult make(Handle *handle, UserObject *object) {
    auto made = std::make_unique<Holder>();
    made->object = object;
    if (object != nullptr) {
        ++object->references;
    }
    *handle = reinterpret_cast<Handle>(made.release());
    return CUDA_SUCCESS;
}
template <class Handle>
Holder *holder(Handle handle) {
    return reinterpret_cast<Holder *>(handle);
}
template <class Handle>
CUresult destroy(Handle handle) {
    delete holder(handle);
    return CUDA_SUCCESS;
}

CUcontext context_handle() {
    static int object;
    return reinterpret_cast<CUcontext>(&object);
}

// The replaced entry points.
struct Driver {
    template <class Entry>
    using As = ScopedOverride<Entry>;

    As<entry::cuCtxGetCurrent> current{[](CUcontext *context) {
        *context = context_handle();
        return CUDA_SUCCESS;
    }};
    As<entry::cuThreadExchangeStreamCaptureMode> mode{
        [](CUstreamCaptureMode *) { return CUDA_SUCCESS; }};
    As<entry::cuGraphCreate> create{
        [](CUgraph *graph, unsigned int) { return make(graph, nullptr); }};
    As<entry::cuGraphClone> clone{
        [](CUgraph *graph, CUgraph from) { return make(graph, holder(from)->object); }};
    As<entry::cuGraphDestroy> destroy_graph{[](CUgraph graph) { return destroy(graph); }};
    As<entry::cuGraphAddHostNode> host{[](CUgraphNode *node, CUgraph graph, const CUgraphNode *,
                                          std::size_t, const CUDA_HOST_NODE_PARAMS *) {
        *node = reinterpret_cast<CUgraphNode>(graph);
        return CUDA_SUCCESS;
    }};
    As<entry::cuUserObjectCreate> make_object{
        [](CUuserObject *object, void *user, CUhostFn destroy, unsigned int count, unsigned int) {
            *object = reinterpret_cast<CUuserObject>(new UserObject{{count}, destroy, user});
            return CUDA_SUCCESS;
        }};
    As<entry::cuUserObjectRelease> release{[](CUuserObject object, unsigned int) {
        drop(of(object));
        return CUDA_SUCCESS;
    }};
    As<entry::cuGraphRetainUserObject> give{
        [](CUgraph graph, CUuserObject object, unsigned int, unsigned int) {
            REQUIRE_THAT(holder(graph)->object == nullptr);
            ++of(object)->references;
            holder(graph)->object = of(object);
            return CUDA_SUCCESS;
        }};
    As<entry::cuGraphReleaseUserObject> take{[](CUgraph graph, CUuserObject object, unsigned int) {
        REQUIRE_THAT(holder(graph)->object == of(object));
        holder(graph)->object = nullptr;
        drop(of(object));
        return CUDA_SUCCESS;
    }};
    As<entry::cuGraphInstantiate_v2> instantiate{
        [](CUgraphExec *exec, CUgraph graph, CUgraphNode *, char *, std::size_t) {
            REQUIRE_THAT(holder(graph)->object == nullptr);
            return make(exec, holder(graph)->object);
        }};
    As<entry::cuGraphExecDestroy> destroy_exec{[](CUgraphExec exec) { return destroy(exec); }};
    As<entry::cuGraphLaunch> launch{[](CUgraphExec, CUstream) { return CUDA_SUCCESS; }};
    As<entry::cuStreamDestroy> destroy_stream{[](CUstream) { return CUDA_SUCCESS; }};
    As<entry::cuStreamIsCapturing> capturing{[](CUstream, CUstreamCaptureStatus *status) {
        *status = CU_STREAM_CAPTURE_STATUS_NONE;
        return CUDA_SUCCESS;
    }};
    As<entry::cuEventCreate> make_event{
        [](CUevent *event, unsigned int) { return make(event, nullptr); }};
    As<entry::cuEventRecord> record{[](CUevent, CUstream) { return CUDA_SUCCESS; }};
    As<entry::cuEventQuery> query{[](CUevent) { return CUDA_SUCCESS; }};
    As<entry::cuEventDestroy> destroy_event{[](CUevent event) { return destroy(event); }};
};

} // namespace

int main() {
    const Driver driver;
    const auto used = std::make_shared<int>(0);
    {
        const Context context = Context::borrow(context_handle());
        int streams[2];
        const Stream stream = ok(Stream::adopt(context, reinterpret_cast<CUstream>(&streams[0])));
        const Stream other = ok(Stream::adopt(context, reinterpret_cast<CUstream>(&streams[1])));
        Graph graph = ok(Graph::create(context));
        ok(graph.add_host_node({}, [used] {}));
        const GraphExec exec = ok(graph.instantiate());
        std::vector<Graph> clones;
        std::vector<GraphExec> execs;
        for (int i = 0; i < 300; ++i) {
            execs.push_back(ok(graph.instantiate()));
            ok(execs.back().launch(i % 2 == 0 ? stream : other));
            clones.push_back(ok(graph.clone()));
            ok(clones.back().add_host_node({}, [used] {}));
        }
        std::thread graphs([&] { clones.clear(); });
        std::thread executable([&] { execs.clear(); });
        for (int i = 0; i < 1000; ++i) {
            ok(exec.launch(i % 3 == 0 ? stream : other));
        }
        graphs.join();
        executable.join();
        REQUIRE_THAT(used.use_count() > 1);
    }
    while (used.use_count() > 1) {
        wait_for_released_closures();
    }
}
