// A first use of both APIs, at moments when little of a program exists yet, or any more.
#pragma once

#include <cushim/table.hpp>

#include "expect.h"

// Whether the situation named by this variable is a machine with a (fake) driver.
inline bool with_libraries() {
    const char *value = getenv("EXPECT_LIBRARIES");
    return value != nullptr && strcmp(value, "1") == 0;
}

// The answers of the fake are none of the loader's own.
inline bool forwarded(int status) {
    switch (status) {
    case 34:
    case 35:
    case 36:
    case 302:
    case 303:
        return false;
    default:
        return true;
    }
}

inline void expect_answer(CUresult status) {
    if (with_libraries())
        EXPECT(forwarded(status));
    else
        EXPECT_INT(status, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
}

inline void expect_answer(cudaError_t status) {
    if (with_libraries())
        EXPECT(forwarded(status));
    else
        EXPECT_INT(status, cudaErrorInsufficientDriver);
}

inline void expect_states() {
    const cushim_state state = with_libraries() ? CUSHIM_STATE_LOADED : CUSHIM_STATE_ABSENT;
    EXPECT_INT(cushim::load_report().driver.state, state);
    EXPECT_INT(cushim::load_report().runtime.state, state);
}

inline void expect_not_tried() {
    EXPECT_INT(cushim::load_report().driver.state, CUSHIM_STATE_NOT_TRIED);
    EXPECT_INT(cushim::load_report().runtime.state, CUSHIM_STATE_NOT_TRIED);
}
