// Integers as bits.
#include "ptx/arithmetic/bit_fields.hpp"
#include "ptx/steps/logic.hpp"
#include "ptx/steps/meanings.hpp"

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

using U32 = std::uint32_t;
template <class T>
using Shift = T(T, U32);
template <class T>
using Count = U32(T);
template <class T>
using Extract = T(T, U32, U32);
template <class T>
using Insert = T(T, T, U32, U32);
template <class T>
using Table = T(T, T, T, U32);

template <class Operation, template <class> class Signature>
constexpr Build bits = by_type<Operation, Signature, Type::b16, Type::b32, Type::b64>;
template <class Operation, template <class> class Signature>
constexpr Build words = by_type<Operation, Signature, Type::b32, Type::b64>;
template <class Operation, template <class> class Signature>
constexpr Build integers =
    by_type<Operation, Signature, Type::u32, Type::s32, Type::u64, Type::s64>;

bool bfind(Decoder &decoder, const Instruction &instruction) {
    return has(instruction, "shiftamt") ? integers<BfindShiftamt, Count>(decoder, instruction)
                                        : integers<Bfind, Count>(decoder, instruction);
}

bool bmsk(Decoder &decoder, const Instruction &instruction) {
    return has(instruction, "clamp")
               ? by_type<Bmsk<Amount::clamp>, Two, Type::b32>(decoder, instruction)
               : by_type<Bmsk<Amount::wrap>, Two, Type::b32>(decoder, instruction);
}

bool szext(Decoder &decoder, const Instruction &instruction) {
    return has(instruction, "clamp")
               ? by_type<Szext<Amount::clamp>, Shift, Type::u32, Type::s32>(decoder, instruction)
               : by_type<Szext<Amount::wrap>, Shift, Type::u32, Type::s32>(decoder, instruction);
}

template <template <Amount> class Operation>
bool funnel(Decoder &decoder, const Instruction &instruction) {
    return has(instruction, "clamp")
               ? by_type<Operation<Amount::clamp>, Three, Type::b32>(decoder, instruction)
               : by_type<Operation<Amount::wrap>, Three, Type::b32>(decoder, instruction);
}

bool shf(Decoder &decoder, const Instruction &instruction) {
    return has(instruction, "l") ? funnel<ShfL>(decoder, instruction)
                                 : funnel<ShfR>(decoder, instruction);
}

template <class Operation>
constexpr Build permute = by_type<Operation, Three, Type::b32>;

bool prmt(Decoder &decoder, const Instruction &instruction) {
    struct Mode {
        std::string_view name;
        Build build;
    };
    static constexpr Mode modes[] = {
        {"f4e", permute<PrmtF4e>}, {"b4e", permute<PrmtB4e>}, {"rc8", permute<PrmtRc8>},
        {"ecl", permute<PrmtEcl>}, {"ecr", permute<PrmtEcr>}, {"rc16", permute<PrmtRc16>},
    };
    for (const Mode &mode : modes) {
        if (has(instruction, mode.name)) {
            return mode.build(decoder, instruction);
        }
    }
    return permute<Prmt>(decoder, instruction);
}

// fns.b32: a mask, a place and a number with a sign.
bool fns(Decoder &decoder, const Instruction &instruction) {
    build_each<Fns>(decoder, instruction, std::type_identity<U32(U32, U32, std::int32_t)>());
    return true;
}

constexpr Meaning meanings[] = {
    {"and", bits<And, Two>},
    {"bfe", integers<Bfe, Extract>},
    {"bfi", words<Bfi, Insert>},
    {"bfind", bfind},
    {"bmsk", bmsk},
    {"brev", words<Brev, One>},
    {"clz", words<Clz, Count>},
    {"cnot", bits<Cnot, One>},
    {"fns", fns},
    {"lop3", by_type<Lop3, Table, Type::b32>},
    {"not", bits<Not, One>},
    {"or", bits<Or, Two>},
    {"popc", words<Popc, Count>},
    {"prmt", prmt},
    {"shf", shf},
    {"shl", bits<Shl, Shift>},
    {"shr", bits<Shr, Shift>},
    {"shr", by_type<Shr, Shift, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64>},
    {"szext", szext},
    {"xor", bits<Xor, Two>},
};

} // namespace

std::span<const Meaning> bit_meanings() noexcept {
    return meanings;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
