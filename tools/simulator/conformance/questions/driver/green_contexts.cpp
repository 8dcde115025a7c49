// The context of a green context: its identity, its state, and its end.
#include "../green_parts.hpp"

#include <thread>

namespace record::QUESTIONS {

namespace {

void note_current(const GreenParts &of) {
    CUcontext current = nullptr;
    ASK(cuCtxGetCurrent, "", &current).told("current", of.name_of(current).c_str());
}

void note_active(const char *when) {
    unsigned int flags = 77;
    int active = 77;
    ask(std::string("cuDevicePrimaryCtxGetState ") + when,
        d.cuDevicePrimaryCtxGetState(0, &flags, &active))
        .told("flags", flags)
        .told("active", active);
}

// --- identity

void identity(const GreenParts &of) {
    CUcontext again = nullptr;
    note("the context of a", of.name_of(of.in_a).c_str());
    note("the context of b", of.name_of(of.in_b).c_str());
    ASK(cuCtxFromGreenCtx, " again", &again, of.a).told("it", of.name_of(again).c_str());
    ASK(cuCtxFromGreenCtx, "(null output)", nullptr, of.a);
    ASK(cuCtxFromGreenCtx, "(null)", &again, nullptr);
    unsigned long long primary = 0, a = 0, b = 0, green = 0, current = 0;
    ASK(cuCtxGetId, " of the primary one", context(), &primary);
    ASK(cuCtxGetId, " of a", of.in_a, &a);
    ASK(cuCtxGetId, " of b", of.in_b, &b);
    note("ids of the primary one and a are equal", primary == a);
    note("ids of a and b are equal", a == b);
    ASK(cuGreenCtxGetId, " of a", of.a, &green).told("it is that of its context", green == a);
    ASK(cuGreenCtxGetId, "(null output)", of.a, nullptr);
    ASK(cuGreenCtxGetId, "(null), primary context current", nullptr, &green);
    d.cuCtxSetCurrent(of.in_a);
    ASK(cuCtxGetId, "(null), a current", nullptr, &current).told("that of a", current == a);
    ASK(cuGreenCtxGetId, "(null), a current", nullptr, &green);
    note("that of a's context", green == a);
    d.cuCtxSetCurrent(nullptr);
    ASK(cuGreenCtxGetId, "(null), no context current", nullptr, &green);
    unsigned int version = 0;
    ASK(cuCtxGetApiVersion, " of a", of.in_a, &version).told("version", version);
    CUdevice device = 77;
    ASK(cuCtxGetDevice_v2, " of a", &device, of.in_a).told("device", device);
}

void stack(const GreenParts &of) {
    CUcontext popped = nullptr;
    CUdevice device = 77;
    ASK(cuCtxSetCurrent, " of a", of.in_a);
    note_current(of);
    ASK(cuCtxGetDevice, "", &device).told("device", device);
    ASK(cuCtxPushCurrent, " of b", of.in_b);
    note_current(of);
    ASK(cuCtxPushCurrent, " of b again", of.in_b);
    ASK(cuCtxPopCurrent, "", &popped).told("popped", of.name_of(popped).c_str());
    ASK(cuCtxPopCurrent, "", &popped).told("popped", of.name_of(popped).c_str());
    note_current(of);
    std::thread([&] {
        ASK(cuCtxSetCurrent, " of a, current in another thread", of.in_a);
        note_current(of);
        CUdeviceptr p = 0;
        ASK(cuMemAlloc, " in both threads", &p, 16);
        ASK(cuCtxPushCurrent, " of the primary one", context());
        ASK(cuCtxPopCurrent, "", &popped).told("popped", of.name_of(popped).c_str());
    }).join();
    CUcontext attached = nullptr;
    ASK(cuCtxAttach, ", a current", &attached, 0).told("it", of.name_of(attached).c_str());
    ASK(cuCtxDetach, " of a", of.in_a);
    ASK(cuCtxDestroy, " of a, current", of.in_a);
    ASK(cuCtxDestroy, " of b", of.in_b);
    note_current(of);
    ASK(cuCtxSynchronize, "");
    CUcontext retained = nullptr;
    ASK(cuDevicePrimaryCtxRetain, ", a current", &retained, 0);
    note("retained", of.name_of(retained).c_str());
    ASK(cuDevicePrimaryCtxRelease, "", 0);
    ASK(cuCtxSetCurrent, "(null)", nullptr);
    note_current(of);
}

// --- state that the primary context may share

void note_flags(const std::string &whose) {
    unsigned int flags = 77;
    ask("cuCtxGetFlags, " + whose, d.cuCtxGetFlags(&flags))
        .told("flags", flags & CU_CTX_SCHED_MASK);
}

void flags(const GreenParts &of) {
    const Row row("scheduling of primary and a; of a, b, primary and the device, set by a; by "
                  "primary; by the device");
    note_flags("primary");
    d.cuCtxSetCurrent(of.in_a);
    note_flags("a");
    ASK(cuCtxSetFlags, " 4, a", CU_CTX_SCHED_BLOCKING_SYNC);
    note_flags("a");
    d.cuCtxSetCurrent(of.in_b);
    note_flags("b");
    d.cuCtxSetCurrent(context());
    note_flags("primary");
    note_active("after that");
    ASK(cuCtxSetFlags, " 1, primary", CU_CTX_SCHED_SPIN);
    note_flags("primary");
    d.cuCtxSetCurrent(of.in_a);
    note_flags("a");
    ASK(cuDevicePrimaryCtxSetFlags, " 2", 0, CU_CTX_SCHED_YIELD);
    note_flags("a");
}

void limits(const GreenParts &of) {
    constexpr struct {
        const char *name;
        int which;
        std::size_t value;
    } all[] = {{"stack", 0, 2048},      {"printf", 1, 1 << 20}, {"heap", 2, 1 << 24},
               {"depth", 3, 2},         {"launches", 4, 1024},  {"L2 fetch", 5, 32},
               {"persisting", 6, 1024}, {"shared", 7, 1024},    {"CIG", 8, 1}};
    for (const auto &[name, which, value] : all) {
        const auto limit = static_cast<CUlimit>(which);
        const auto get = [&, limit = limit, named = std::string(name)](const std::string &whose) {
            std::size_t found = 77;
            tell("cuCtxGetLimit(" + named + "), " + whose, d.cuCtxGetLimit(&found, limit), found);
        };
        const Row row(std::string(name) + ", of a, set, of a, b, primary");
        d.cuCtxSetCurrent(of.in_a);
        get("a");
        ask(std::string("cuCtxSetLimit(") + name + "), a", d.cuCtxSetLimit(limit, value));
        get("a");
        d.cuCtxSetCurrent(of.in_b);
        get("b");
        d.cuCtxSetCurrent(context());
        get("primary");
    }
}

void configuration(const GreenParts &of) {
    const auto note_both = [](const std::string &whose) {
        CUfunc_cache cache{};
        CUsharedconfig shared{};
        tell("cuCtxGetCacheConfig, " + whose, d.cuCtxGetCacheConfig(&cache), cache);
        tell("cuCtxGetSharedMemConfig, " + whose, d.cuCtxGetSharedMemConfig(&shared), shared);
    };
    d.cuCtxSetCurrent(of.in_a);
    note_both("a");
    ASK(cuCtxSetCacheConfig, ", a", CU_FUNC_CACHE_PREFER_L1);
    ASK(cuCtxSetSharedMemConfig, ", a", CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    note_both("a");
    int least = 77, greatest = 77;
    ASK(cuCtxGetStreamPriorityRange, ", a", &least, &greatest);
    note("least", least);
    note("greatest", greatest);
    ASK(cuCtxResetPersistingL2Cache, ", a");
    ASK(cuCtxSynchronize, ", a");
    ASK(cuCtxSynchronize_v2, "(null), a", nullptr);
    d.cuCtxSetCurrent(context());
    note_both("primary");
    ASK(cuCtxSynchronize_v2, " of a, primary current", of.in_a);
    d.cuCtxSetCurrent(nullptr);
    ASK(cuCtxSynchronize_v2, " of a, none current", of.in_a);
}

void resources(const GreenParts &of) {
    CUdevResource found{};
    const auto unknown = static_cast<CUdevResourceType>(77);
    const auto get = [&](const char *whose, CUcontext of_context) {
        found = {};
        const Row row(std::string("cuCtxGetDevResource of ") + whose);
        ask(std::string("cuCtxGetDevResource of ") + whose,
            d.cuCtxGetDevResource(of_context, &found, CU_DEV_RESOURCE_TYPE_SM))
            .told("multiprocessors", found.sm.smCount)
            .told("least", found.sm.minSmPartitionSize)
            .told("step", found.sm.smCoscheduledAlignment);
    };
    get("a", of.in_a);
    get("the primary one", context());
    get("null, primary current", nullptr);
    d.cuCtxSetCurrent(of.in_a);
    get("null, a current", nullptr);
    unsigned int groups = 1;
    CUdevResource part{};
    d.cuCtxGetDevResource(of.in_a, &found, CU_DEV_RESOURCE_TYPE_SM);
    ASK(cuDevSmResourceSplitByCount, " of a's", &part, &groups, &found, nullptr, 0, 8);
    note("groups", groups);
    ASK(cuCtxGetDevResource, " of a, type 77", of.in_a, &found, unknown);
    ASK(cuCtxGetDevResource, " of a, type 0", of.in_a, &found, CU_DEV_RESOURCE_TYPE_INVALID);
    ASK(cuCtxGetDevResource, " of a, null output", of.in_a, nullptr, CU_DEV_RESOURCE_TYPE_SM);
    d.cuCtxSetCurrent(nullptr);
    get("null, none current", nullptr);
    ASK(cuGreenCtxGetDevResource, "(null)", nullptr, &found, CU_DEV_RESOURCE_TYPE_SM);
    ASK(cuGreenCtxGetDevResource, " null output", of.a, nullptr, CU_DEV_RESOURCE_TYPE_SM);
    ASK(cuGreenCtxGetDevResource, " type 77", of.a, &found, unknown);
}

// --- its end

// Calls with its context, which no longer exists.
void use_ended(const GreenParts &of) {
    unsigned int version = 0;
    unsigned long long id = 0;
    CUdevice device = 0;
    CUdevResource found{};
    CUevent event = MAKE(cuEventCreate, 0);
    CUdeviceptr p = MAKE(cuMemAlloc, 64);
    ASK(cuCtxGetApiVersion, " of a", of.in_a, &version);
    ASK(cuCtxGetId, " of a", of.in_a, &id);
    ASK(cuCtxGetDevice_v2, " of a", &device, of.in_a);
    ASK(cuCtxSynchronize_v2, " of a", of.in_a);
    ASK(cuCtxRecordEvent, " of a", of.in_a, event);
    ASK(cuCtxWaitEvent, " of a", of.in_a, event);
    ASK(cuCtxGetDevResource, " of a", of.in_a, &found, CU_DEV_RESOURCE_TYPE_SM);
    ASK(cuCtxEnablePeerAccess, " of a", of.in_a, 0);
    ASK(cuCtxDisablePeerAccess, " of a", of.in_a);
    ASK(cuMemcpyPeer, " from a", p, context(), p + 32, of.in_a, 16);
    ASK(cuMemcpyPeer, " to a", p, of.in_a, p + 32, context(), 16);
    CUgraph graph = MAKE(cuGraphCreate, 0);
    CUgraphNode node = nullptr;
    const CUDA_MEMSET_NODE_PARAMS fill{.dst = p, .elementSize = 1, .width = 16, .height = 1};
    ASK(cuGraphAddMemsetNode, " of a", &node, graph, nullptr, 0, &fill, of.in_a);
    ASK(cuCtxDestroy, " of a", of.in_a);
    ASK(cuCtxDetach, " of a", of.in_a);
    ASK(cuCtxPushCurrent, " of a", of.in_a);
    ASK(cuCtxSetCurrent, " of a", of.in_a);
    note_current(of);
}

void ended(const GreenParts &of) {
    ASK(cuGreenCtxDestroy, " of a", of.a);
    use_ended(of);
}

// Calls without a context, when the current one no longer exists.
void use_ended_current(const GreenParts &of) {
    note_current(of);
    const Row row("calls in it, and the context below");
    CUdeviceptr p = 0;
    CUdevice device = 0;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUgreenCtx green = nullptr;
    CUcontext which = nullptr;
    unsigned long long id = 0;
    unsigned int flags = 0;
    std::size_t limit = 0;
    ASK(cuCtxGetDevice, "", &device);
    ASK(cuCtxGetId, "(null)", nullptr, &id);
    ASK(cuGreenCtxGetId, "(null)", nullptr, &id);
    ASK(cuCtxGetFlags, "", &flags);
    ASK(cuCtxGetLimit, "", &limit, CU_LIMIT_STACK_SIZE);
    ASK(cuMemAlloc, "", &p, 64);
    ASK(cuEventCreate, "", &event, 0);
    ASK(cuStreamCreate, "", &stream, 0);
    ASK(cuStreamGetCtx, " of the null stream", nullptr, &which);
    ASK(cuStreamGetGreenCtx, " of the null stream", nullptr, &green);
    ASK(cuStreamSynchronize, " of the null stream", nullptr);
    ASK(cuCtxSynchronize, "");
    CUcontext popped = nullptr;
    ASK(cuCtxPopCurrent, "", &popped).told("popped", of.name_of(popped).c_str());
    note_current(of);
}

void ended_while_current(const GreenParts &of) {
    d.cuCtxSetCurrent(of.in_a);
    ASK(cuGreenCtxDestroy, " of a, current", of.a);
    use_ended_current(of);
    ASK(cuCtxSetCurrent, " of the primary one", context());
    ASK(cuCtxSynchronize, "");
}

void ended_while_pushed(const GreenParts &of) {
    d.cuCtxPushCurrent(of.in_a);
    d.cuCtxPushCurrent(of.in_b);
    ASK(cuGreenCtxDestroy, " of a, below b", of.a);
    note_current(of);
    CUcontext popped = nullptr;
    ASK(cuCtxPopCurrent, "", &popped).told("popped", of.name_of(popped).c_str());
    use_ended_current(of);
}

void ended_while_current_elsewhere(const GreenParts &of) {
    d.cuCtxSetCurrent(of.in_a);
    std::thread([&] { ASK(cuGreenCtxDestroy, " of a, current in another thread", of.a); }).join();
    use_ended_current(of);
}

void use_ended_green(const GreenParts &of) {
    CUcontext converted = nullptr;
    ASK(cuCtxFromGreenCtx, " of a", &converted, of.a).told("it", of.name_of(converted).c_str());
    unsigned long long id = 0;
    ASK(cuGreenCtxGetId, " of a", of.a, &id);
    CUdevResource found{};
    ASK(cuGreenCtxGetDevResource, " of a", of.a, &found, CU_DEV_RESOURCE_TYPE_SM);
}

void ended_twice(const GreenParts &of) {
    d.cuGreenCtxDestroy(of.a);
    ASK(cuGreenCtxDestroy, " of a again", of.a);
}

void ended_then_streams(const GreenParts &of) {
    CUevent event = MAKE(cuEventCreate, 0);
    d.cuGreenCtxDestroy(of.a);
    CUstream stream = nullptr;
    ASK(cuGreenCtxStreamCreate, " of a", &stream, of.a, CU_STREAM_NON_BLOCKING, 0);
    ASK(cuGreenCtxRecordEvent, " of a", of.a, event);
    ASK(cuGreenCtxWaitEvent, " of a", of.a, event);
}

void retains(const GreenParts &of) {
    note_active("with two green contexts");
    ASK(cuDevicePrimaryCtxRelease, "", 0);
    note_active("when it was released");
    unsigned int version = 0;
    ASK(cuCtxGetApiVersion, " of a", of.in_a, &version);
    ASK(cuGreenCtxDestroy, " of a", of.a);
    note_active("after the end of a");
    ASK(cuGreenCtxDestroy, " of b", of.b);
    note_active("after the end of b");
    ASK(cuDevicePrimaryCtxRelease, " again", 0);
}

void reset(const GreenParts &of) {
    ASK(cuDevicePrimaryCtxReset, "", 0);
    note_active("after the reset");
    unsigned int version = 0;
    unsigned long long id = 0;
    ASK(cuCtxGetApiVersion, " of the primary one", context(), &version);
    ASK(cuCtxGetApiVersion, " of a", of.in_a, &version);
    ASK(cuGreenCtxGetId, " of a", of.a, &id);
    CUcontext converted = nullptr;
    ASK(cuCtxFromGreenCtx, " of a", &converted, of.a).told("it", of.name_of(converted).c_str());
    ASK(cuCtxSetCurrent, " of a", of.in_a);
    CUdeviceptr p = 0;
    ASK(cuMemAlloc, "", &p, 16);
    ASK(cuCtxSynchronize, "");
}

void reset_then_ended(const GreenParts &of) {
    d.cuDevicePrimaryCtxReset(0);
    ASK(cuGreenCtxDestroy, " of a", of.a);
    note_active("after that");
}

void reset_while_current(const GreenParts &of) {
    d.cuCtxSetCurrent(of.in_a);
    ASK(cuDevicePrimaryCtxReset, ", a current", 0);
    use_ended_current(of);
}

} // namespace

SECTION_ONCE("green_context_identity") {
    with_green("identity", identity);
    with_green("stack", stack);
    with_green("flags", flags);
    with_green("limits", limits);
    with_green("configuration", configuration);
    with_green("resources", resources);
}

SECTION_ONCE("green_context_ends") {
    with_green("ended", ended);
    with_green("ended while current", ended_while_current);
    with_green("ended while pushed", ended_while_pushed);
    with_green("ended while current elsewhere", ended_while_current_elsewhere);
    with_green("ended, asked", [](const GreenParts &of) {
        d.cuGreenCtxDestroy(of.a);
        use_ended_green(of);
    });
    with_green("ended twice", ended_twice);
    with_green("ended, then its streams", ended_then_streams);
    with_green("retains", retains);
    with_green("reset", reset);
    with_green("reset, then ended", reset_then_ended);
    with_green("reset while current", reset_while_current);
}

} // namespace record::QUESTIONS
