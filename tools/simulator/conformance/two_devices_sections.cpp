// Sections about two devices, in the order of a recording.
#include "questions/two_devices/two_devices.hpp"

namespace record::QUESTIONS {

namespace {

const Section sections[] = {
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    // Calls without per-thread variants, or whose variants behave the same.
    {"peers", two_devices::peers},
    {"reach", two_devices::reach},
#endif
    {"copies", two_devices::copies},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"wrong_copies", two_devices::wrong_copies},
    {"copies_elsewhere", two_devices::copies_elsewhere},
    {"streams", two_devices::streams},
    {"events", two_devices::events},
    {"captures", two_devices::captures},
    {"graphs", two_devices::graphs},
    {"pointers", two_devices::pointers},
    {"objects", two_devices::objects},
    {"managed", two_devices::managed},
    {"virtual_memory", two_devices::virtual_memory},
    {"pools", two_devices::pools},
    {"ipc", two_devices::ipc},
    {"failures", two_devices::failures},
    {"runtime peers", two_devices::runtime_peers},
    {"runtime first_use", two_devices::runtime_first_use},
#endif
    {"runtime copies", two_devices::runtime_copies},
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM
    {"runtime streams", two_devices::runtime_streams},
    {"runtime memory", two_devices::runtime_memory},
    {"runtime pools", two_devices::runtime_pools},
    {"runtime resets", two_devices::runtime_resets},
#endif
};

} // namespace

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
const Sections all_of_two_devices = {"two devices per-thread ", sections,
                                     sizeof sections / sizeof *sections};
#else
const Sections all_of_two_devices = {"two devices ", sections, sizeof sections / sizeof *sections};
#endif

} // namespace record::QUESTIONS
