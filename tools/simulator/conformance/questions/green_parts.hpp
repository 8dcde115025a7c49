// Two green contexts of device 0 for questions, with eight multiprocessors each.
#pragma once

#include "../record.hpp"
#include "../row.hpp"
#include "other_process.hpp"

#include <string>

namespace record {

struct GreenParts {
    CUgreenCtx a = nullptr, b = nullptr;
    CUcontext in_a = nullptr, in_b = nullptr;

    std::string name_of(CUcontext one) const {
        return one == nullptr     ? "null"
               : one == context() ? "the primary one"
               : one == in_a      ? "of a"
               : one == in_b      ? "of b"
                                  : "another one";
    }
    std::string name_of(CUgreenCtx one) const {
        return one == nullptr ? "null" : one == a ? "a" : one == b ? "b" : "another one";
    }
};

// Makes them, with the primary context current; false without a device that has green contexts.
inline bool make(GreenParts &parts) {
    CUdevResource all{}, groups[2]{};
    CUdevResourceDesc first = nullptr, second = nullptr;
    unsigned int count = 2;
    return start() && d.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) == 0 &&
           d.cuDevSmResourceSplitByCount(groups, &count, &all, nullptr, 0, 8) == 0 &&
           d.cuDevResourceGenerateDesc(&first, groups, 1) == 0 &&
           d.cuDevResourceGenerateDesc(&second, groups + 1, 1) == 0 &&
           d.cuGreenCtxCreate(&parts.a, first, 0, CU_GREEN_CTX_DEFAULT_STREAM) == 0 &&
           d.cuGreenCtxCreate(&parts.b, second, 0, CU_GREEN_CTX_DEFAULT_STREAM) == 0 &&
           d.cuCtxFromGreenCtx(&parts.in_a, parts.a) == 0 &&
           d.cuCtxFromGreenCtx(&parts.in_b, parts.b) == 0;
}

// Asks in a process of its own, with the primary context current.
inline void with_green(const std::string &name, void (*body)(const GreenParts &)) {
    ask_in_short(name, [=] {
        GreenParts parts;
        if (make(parts)) {
            body(parts);
        }
    });
}

} // namespace record
