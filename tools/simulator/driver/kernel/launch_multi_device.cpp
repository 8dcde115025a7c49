// Cooperative launches on several devices at once.
#include "driver_functions.hpp"
#include "engine/capture.hpp"
#include "engine/context.hpp"
#include "engine/stream.hpp"
#include "kernel/launch.hpp"

#include <algorithm>
#include <deque>

namespace sim {
namespace {

constexpr unsigned int no_pre_launch_sync = 1, no_post_launch_sync = 2;

void need_created(CUstream handle) {
    require(handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD);
}

KernelLaunch launch_of(const CUDA_LAUNCH_PARAMS &p) {
    KernelLaunch launch = kernel_launch(p.function, {p.gridDimX, p.gridDimY, p.gridDimZ},
                                        {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes,
                                        p.kernelParams, nullptr);
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    launch.attributes.push_back(cooperative);
    return launch;
}

void check_alike(const KernelLaunch &first, const KernelLaunch &other) {
    require(code_of(*first.function).name == code_of(*other.function).name &&
            std::equal(first.grid, first.grid + 3, other.grid) &&
            std::equal(first.block, first.block + 3, other.block) &&
            first.shared_bytes == other.shared_bytes);
}

// All launches; they are checked before the first one is enqueued.
struct Launches {
    std::vector<Stream *> streams;
    std::vector<Work> work;
};

Launches prepare(const CUDA_LAUNCH_PARAMS *list, unsigned int count) {
    Launches launches;
    KernelLaunch first;
    for (unsigned int i = 0; i < count; ++i) {
        need_created(list[i].hStream);
        KernelLaunch launch = launch_of(list[i]); // recorded: checked before the stream's context
        Stream &stream = stream_of(list[i].hStream);
        refuse_capturing(stream);
        for (const Stream *other : launches.streams) {
            require(other->context->device != stream.context->device);
        }
        if (i == 0) {
            first = launch;
        }
        check_alike(first, launch);
        launches.streams.push_back(&stream);
        launches.work.push_back(
            launch_work(stream, std::move(launch), "cuLaunchCooperativeKernelMultiDevice"));
    }
    return launches;
}

} // namespace
} // namespace sim

namespace sim::driver {

EXPORT CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launchParamsList,
                                                     unsigned int numDevices, unsigned int flags) {
    require(launchParamsList != nullptr && numDevices != 0);
    require((flags & ~(no_pre_launch_sync | no_post_launch_sync)) == 0,
            "Invalid flags argument specified");
    Launches launches = prepare(launchParamsList, numDevices);
    std::deque<InUse> in_use;
    for (Stream *stream : launches.streams) {
        in_use.emplace_back(*stream);
    }
    std::vector<Ticket> before, after;
    if ((flags & no_pre_launch_sync) == 0) {
        for (const Stream *stream : launches.streams) {
            before.push_back(stream->last);
        }
    }
    for (unsigned int i = 0; i < numDevices; ++i) {
        after.push_back(enqueue(*launches.streams[i], std::move(launches.work[i]), before));
    }
    if ((flags & no_post_launch_sync) == 0) {
        for (Stream *stream : launches.streams) {
            Work empty;
            empty.what = "cuLaunchCooperativeKernelMultiDevice";
            enqueue(*stream, std::move(empty), after);
        }
    }
    return CUDA_SUCCESS;
}

} // namespace sim::driver
