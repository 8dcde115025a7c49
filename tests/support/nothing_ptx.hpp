// A kernel that does nothing with its parameters, for measurements of launches and graphs.
#pragma once

using Nothing = void(int *, unsigned int);

inline constexpr char nothing_ptx[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u32 b) { ret; }
)";
