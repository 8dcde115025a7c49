#include "ptx/types.hpp"

#include <algorithm>
#include <iterator>

namespace sim::ptx {
namespace {

// In the order of Type.
constexpr TypeInfo types[] = {
    {"", TypeClass::none, 0},
    {"pred", TypeClass::predicate, 1},
    {"b8", TypeClass::bits, 8},
    {"b16", TypeClass::bits, 16},
    {"b32", TypeClass::bits, 32},
    {"b64", TypeClass::bits, 64},
    {"b128", TypeClass::bits, 128},
    {"u8", TypeClass::integer, 8},
    {"u16", TypeClass::integer, 16},
    {"u32", TypeClass::integer, 32},
    {"u64", TypeClass::integer, 64},
    {"s8", TypeClass::integer, 8},
    {"s16", TypeClass::integer, 16},
    {"s32", TypeClass::integer, 32},
    {"s64", TypeClass::integer, 64},
    {"f16", TypeClass::real, 16},
    {"f32", TypeClass::real, 32},
    {"f64", TypeClass::real, 64},
    {"bf16", TypeClass::packed, 16},
    {"tf32", TypeClass::packed, 32},
    {"f16x2", TypeClass::packed, 32},
    {"bf16x2", TypeClass::packed, 32},
    {"f32x2", TypeClass::packed, 64},
    {"u16x2", TypeClass::packed, 32},
    {"s16x2", TypeClass::packed, 32},
    {"u8x4", TypeClass::packed, 32},
    {"s8x4", TypeClass::packed, 32},
    {"e4m3", TypeClass::packed, 8},
    {"e5m2", TypeClass::packed, 8},
    {"e2m3", TypeClass::packed, 8},
    {"e3m2", TypeClass::packed, 8},
    {"e2m1", TypeClass::packed, 8},
    {"e4m3x2", TypeClass::packed, 16},
    {"e5m2x2", TypeClass::packed, 16},
    {"e2m3x2", TypeClass::packed, 16},
    {"e3m2x2", TypeClass::packed, 16},
    {"e2m1x2", TypeClass::packed, 8},
    {"ue8m0", TypeClass::packed, 8},
    {"ue8m0x2", TypeClass::packed, 16},
    {"b1", TypeClass::packed, 1},
    {"u4", TypeClass::packed, 4},
    {"s4", TypeClass::packed, 4},
    {"texref", TypeClass::reference, 64},
    {"samplerref", TypeClass::reference, 64},
    {"surfref", TypeClass::reference, 64},
};
static_assert(std::size(types) == static_cast<std::size_t>(Type::surfref) + 1);

} // namespace

const TypeInfo &info(Type type) noexcept {
    return types[static_cast<std::size_t>(type)];
}

Type find_type(std::string_view name) noexcept {
    const auto found = std::find_if(std::begin(types), std::end(types),
                                    [&](const TypeInfo &type) { return type.name == name; });
    return found == std::end(types) ? Type::none : static_cast<Type>(found - std::begin(types));
}

Type wide(Type type) noexcept {
    switch (type) {
    case Type::u16:
        return Type::u32;
    case Type::u32:
        return Type::u64;
    case Type::s16:
        return Type::s32;
    case Type::s32:
        return Type::s64;
    default:
        return Type::none;
    }
}

} // namespace sim::ptx
