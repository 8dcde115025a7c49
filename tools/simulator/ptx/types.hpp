// The types of PTX.
#pragma once

#include <cstdint>
#include <string_view>

namespace sim::ptx {

enum class Type : std::uint8_t {
    none,
    pred,
    b8,
    b16,
    b32,
    b64,
    b128,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f32,
    f64,
    bf16,
    tf32,
    f16x2,
    bf16x2,
    f32x2,
    u16x2,
    s16x2,
    u8x4,
    s8x4,
    e4m3,
    e5m2,
    e2m3,
    e3m2,
    e2m1,
    e4m3x2,
    e5m2x2,
    e2m3x2,
    e3m2x2,
    e2m1x2,
    ue8m0,
    ue8m0x2,
    b1,
    u4,
    s4,
    texref,
    samplerref,
    surfref,
};

// What a register of a type holds: operands of one class can replace each other.
enum class TypeClass : std::uint8_t { none, predicate, bits, integer, real, packed, reference };

struct TypeInfo {
    std::string_view name; // without the dot
    TypeClass kind;
    std::uint8_t bits; // 4 for .u4
};

const TypeInfo &info(Type type) noexcept;
// By its name without the dot; Type::none if no type has it.
Type find_type(std::string_view name) noexcept;

inline std::size_t size_of(Type type) noexcept {
    return (info(type).bits + 7) / 8;
}
// The type of the same kind with twice the bits, as the results of mul.wide; none if there is none.
Type wide(Type type) noexcept;

} // namespace sim::ptx
