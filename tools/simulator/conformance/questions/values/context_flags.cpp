// Flags of primary and created contexts: who sets them, when they apply, and what is reported. Each
// line holds the results of the calls of a section in their order; cuDevicePrimaryCtxGetState has
// two, the flags and whether the context is active.
#include "row.hpp"

#include <unistd.h>

namespace record::QUESTIONS {

namespace {

constexpr unsigned int all_flags[] = {0,    1,    2,    4,    8,    9,    0x0a,  0x0c, 0x10,
                                      0x18, 0x20, 0x40, 0x60, 0x80, 0x88, 0xf8,  0xfc, 0x03,
                                      0x05, 0x06, 0x07, 0x0b, 0x83, 0xff, 0x100, 0x108};

std::string hex(unsigned int value) {
    char text[16] = "";
    std::snprintf(text, sizeof text, "0x%02x", value);
    return text;
}

void add_state(Row &row) {
    unsigned int flags = 0xbad;
    int active = -1;
    const CUresult status = d.cuDevicePrimaryCtxGetState(0, &flags, &active);
    row.add(status, flags, active);
}

void add_current(Row &row) {
    unsigned int flags = 0xbad;
    const CUresult status = d.cuCtxGetFlags(&flags);
    row.add(status, flags);
}

void add_runtime(Row &row) {
    unsigned int flags = 0xbad;
    const cudaError_t status = r.cudaGetDeviceFlags(&flags);
    row.add(status, flags);
}

CUcontext retain() {
    CUcontext primary = MAKE(cuDevicePrimaryCtxRetain, 0);
    d.cuCtxSetCurrent(primary);
    return primary;
}

// A context with core dumps makes a pipe in the current folder.
bool begin_elsewhere() {
    return chdir("/tmp") == 0;
}

template <class Body>
void for_all_flags(const Body &body) {
    for (const unsigned int flags : all_flags) {
        row_apart(hex(flags), [&](Row &row) {
            d.cuInit(0);
            body(row, flags);
        });
    }
}

} // namespace

SECTION("flags_of_primary_contexts", begin_elsewhere) {
    row_apart("never set", [](Row &row) {
        d.cuInit(0);
        add_state(row);
        retain();
        add_state(row);
        add_current(row);
        d.cuDevicePrimaryCtxReset(0);
        add_state(row);
        retain();
        add_state(row);
        add_current(row);
        d.cuDevicePrimaryCtxRelease(0);
        d.cuDevicePrimaryCtxRelease(0);
        add_state(row);
    });
    for_all_flags([](Row &row, unsigned int flags) {
        row.add(d.cuDevicePrimaryCtxSetFlags(0, flags));
        add_state(row);
        retain();
        add_state(row);
        add_current(row);
        d.cuDevicePrimaryCtxReset(0);
        add_state(row);
        retain();
        add_current(row);
        d.cuDevicePrimaryCtxRelease(0);
        d.cuDevicePrimaryCtxRelease(0);
        add_state(row);
        retain();
        add_current(row);
    });
}

SECTION("flags_of_active_primary_contexts", begin_elsewhere) {
    for_all_flags([](Row &row, unsigned int flags) {
        retain();
        row.add(d.cuDevicePrimaryCtxSetFlags(0, flags));
        add_state(row);
        add_current(row);
        d.cuDevicePrimaryCtxRelease(0);
        add_state(row);
        retain();
        add_state(row);
        add_current(row);
    });
    row_apart("set twice", [](Row &row) {
        d.cuInit(0);
        row.add(d.cuDevicePrimaryCtxSetFlags(0, 4));
        row.add(d.cuDevicePrimaryCtxSetFlags(0, 1));
        add_state(row);
        retain();
        add_current(row);
        row.add(d.cuDevicePrimaryCtxSetFlags(0, 0));
        add_state(row);
        add_current(row);
        retain();
        add_current(row);
    });
}

#if CUDA_VERSION >= 12010
SECTION("flags_set_in_contexts", begin_elsewhere) {
    for_all_flags([](Row &row, unsigned int flags) {
        retain();
        row.add(d.cuCtxSetFlags(flags));
        add_current(row);
        add_state(row);
        CUcontext primary = retain();
        add_current(row);
        add_state(row);
        CUcontext made = nullptr;
        d.cuCtxCreate_v2(&made, 0, 0);
        row.add(d.cuCtxSetFlags(flags));
        add_current(row);
        add_state(row);
        d.cuCtxSetCurrent(primary);
        add_current(row);
        d.cuDevicePrimaryCtxReset(0);
        add_state(row);
        retain();
        add_current(row);
    });
}
#endif

SECTION("flags_of_created_contexts", begin_elsewhere) {
    for_all_flags([](Row &row, unsigned int flags) {
        CUcontext made = nullptr;
        row.add(d.cuCtxCreate_v2(&made, flags, 0));
        add_current(row);
        add_state(row);
        d.cuDevicePrimaryCtxSetFlags(0, 4);
        add_current(row);
        CUcontext next = nullptr;
        d.cuCtxCreate_v2(&next, 0, 0);
        add_current(row);
        retain();
        add_current(row);
    });
#if CUDA_VERSION >= 12050
    for (const unsigned int flags : {0u, 1u, 8u, 0x10u, 0x80u}) {
        row_apart("cuCtxCreate_v4, " + hex(flags), [&](Row &row) {
            d.cuInit(0);
            CUcontext made = nullptr;
            row.add(d.cuCtxCreate_v4(&made, nullptr, flags, 0));
            add_current(row);
        });
    }
#endif
    for (const unsigned int flags : {0u, 1u, 8u, 0x10u, 0x80u}) {
        row_apart("cuCtxCreate_v3, " + hex(flags), [&](Row &row) {
            d.cuInit(0);
            CUcontext made = nullptr;
            row.add(d.cuCtxCreate_v3(&made, nullptr, 0, flags, 0));
            add_current(row);
        });
    }
}

SECTION("flags_with_the_runtime", begin_elsewhere) {
    row_apart("never set", [](Row &row) {
        add_runtime(row);
        add_state(row);
        add_current(row);
        row.add(r.cudaSetDevice(0));
        add_runtime(row);
        add_state(row);
        add_current(row);
        row.add(r.cudaFree(nullptr));
        add_runtime(row);
        add_state(row);
        add_current(row);
        row.add(r.cudaDeviceReset());
        add_runtime(row);
        add_state(row);
    });
    for_all_flags([](Row &row, unsigned int flags) {
        row.add(r.cudaSetDeviceFlags(flags));
        add_state(row);
        add_current(row);
        add_runtime(row);
        row.add(r.cudaFree(nullptr));
        add_state(row);
        add_current(row);
        add_runtime(row);
        row.add(r.cudaSetDeviceFlags(4));
        add_state(row);
        add_current(row);
        add_runtime(row);
        row.add(r.cudaDeviceReset());
        add_runtime(row);
        add_state(row);
    });
    for (const unsigned int flags : {0u, 1u, 4u, 8u, 0x10u, 0x80u, 0x03u, 0x100u}) {
        row_apart("driver first, " + hex(flags), [&](Row &row) {
            d.cuInit(0);
            retain();
            add_runtime(row);
            row.add(r.cudaSetDeviceFlags(flags));
            add_runtime(row);
            add_state(row);
            add_current(row);
            CUcontext made = nullptr;
            row.add(d.cuCtxCreate_v2(&made, flags, 0));
            add_runtime(row);
            row.add(r.cudaSetDeviceFlags(4));
            add_runtime(row);
            add_state(row);
            add_current(row);
        });
#if CUDART_VERSION >= 12000
        row_apart("cudaInitDevice, " + hex(flags), [&](Row &row) {
            row.add(r.cudaInitDevice(0, flags, 0));
            add_state(row);
            add_current(row);
            row.add(r.cudaInitDevice(0, flags, cudaInitDeviceFlagsAreValid));
            add_runtime(row);
            add_state(row);
            add_current(row);
            row.add(r.cudaSetDevice(0));
            add_state(row);
            add_current(row);
            add_runtime(row);
        });
#endif
    }
}

} // namespace record::QUESTIONS
