// A first use of both APIs, at moments when little of a program exists yet, or any more.
#pragma once

#include <cushim/table.hpp>

#include <initializer_list>

#include "expect.h"

// Whether the situation named by this variable is a machine with a (fake) driver.
inline bool with_libraries() {
    const char *value = getenv("EXPECT_LIBRARIES");
    return value != nullptr && strcmp(value, "1") == 0;
}

// With libraries, a status of the fake, none of which is one of the loader's own.
inline void expect_answer(int status, int absent) {
    if (!with_libraries()) {
        EXPECT_INT(status, absent);
        return;
    }
    for (const int own : {34, 35, 36, 302, 303}) {
        EXPECT(status != own);
    }
}
inline void expect_answer(CUresult status) {
    expect_answer(status, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
}
inline void expect_answer(cudaError_t status) {
    expect_answer(status, cudaErrorInsufficientDriver);
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
