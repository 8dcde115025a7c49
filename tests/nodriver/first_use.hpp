// A first use of both APIs very early or very late in the life of a process.
#pragma once

#include <cushim/table.hpp>

#include <initializer_list>

#include "../support/expect.h"

// Whether the situation that this variable names has (fake) libraries.
inline bool with_libraries() {
    const char *value = getenv("EXPECT_LIBRARIES");
    return value != nullptr && strcmp(value, "1") == 0;
}

// With libraries, the fake's status, which is never a status that the loader returns.
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
