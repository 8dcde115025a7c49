// Products of matrices, and matrices between memory and registers.
#include "ptx_kernel.hpp"

#include "ptx/arithmetic/reals.hpp"

#include <cmath>
#include <functional>
#include <random>

using namespace ptx_test;

namespace {

std::uint64_t encoded(Type type, double value) {
    const auto single = static_cast<float>(value);
    switch (type) {
    case Type::f16:
        return narrow<F16>(value).bits;
    case Type::bf16:
        return narrow<BF16>(value).bits;
    case Type::e4m3:
        return narrow<E4M3>(value).bits;
    case Type::e5m2:
        return narrow<E5M2>(value).bits;
    case Type::tf32:
        return narrow<TF32>(value).bits;
    case Type::f32:
        return bits_of(single);
    case Type::f64:
        return bits_of(value);
    default: {
        const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
        return bits & ((std::uint64_t(1) << info(type).bits) - 1);
    }
    }
}

double decoded(Type type, std::uint64_t bits) {
    switch (type) {
    case Type::f16:
        return widen(F16{static_cast<std::uint16_t>(bits)});
    case Type::bf16:
        return widen(BF16{static_cast<std::uint16_t>(bits)});
    case Type::e4m3:
        return widen(E4M3{static_cast<std::uint8_t>(bits)});
    case Type::e5m2:
        return widen(E5M2{static_cast<std::uint8_t>(bits)});
    case Type::tf32:
    case Type::f32:
        return bit_cast<float>(static_cast<std::uint32_t>(bits));
    case Type::f64:
        return bit_cast<double>(bits);
    case Type::s4:
        return static_cast<double>(static_cast<std::int8_t>(bits << 4) >> 4);
    case Type::s8:
        return static_cast<std::int8_t>(bits);
    case Type::s32:
        return static_cast<std::int32_t>(bits);
    default:
        return static_cast<double>(bits);
    }
}

std::string name_of(Type type) {
    return std::string(info(type).name);
}

// Values that the type has exactly.
struct Matrix {
    Matrix(int its_rows, int its_columns, Type its_type)
        : rows(its_rows), columns(its_columns), type(its_type),
          values(static_cast<std::size_t>(its_rows * its_columns)) {}

    double &at(int row, int column) {
        return values[static_cast<std::size_t>(row * columns + column)];
    }
    void fill(std::mt19937 &random, bool integers) {
        const bool is_real =
            info(type).name.find('f') != std::string_view::npos || info(type).name.starts_with("e");
        const bool is_signed = info(type).name[0] != 'u';
        for (double &value : values) {
            const int integer = static_cast<int>(random() % 8) - (is_signed ? 4 : 0);
            const double real = static_cast<double>(random()) / 0x1p31 - 1;
            value = decoded(type, encoded(type, is_real && !integers ? real : integer));
        }
    }

    int rows, columns;
    Type type;
    std::vector<double> values;
};

Matrix product(Matrix &a, Matrix &b, Matrix &c, Type type) {
    Matrix d(c.rows, c.columns, type);
    for (int row = 0; row < c.rows; ++row) {
        for (int column = 0; column < c.columns; ++column) {
            double sum = c.at(row, column);
            for (int k = 0; k < a.columns; ++k) {
                sum += a.at(row, k) * b.at(k, column);
            }
            d.at(row, column) = sum;
        }
    }
    return d;
}

void compare(Matrix &expected, Matrix &found, bool integers) {
    const double tolerance = integers                     ? 0
                             : expected.type == Type::f16 ? 0x1p-9
                             : expected.type == Type::f32 ? 0x1p-20
                                                          : 0x1p-48;
    double worst = 0;
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
        worst = std::max(worst, std::abs(expected.values[i] - found.values[i]));
    }
    CHECK(worst <= tolerance * 4);
}

// --- mma: the layouts as the PTX ISA writes them
struct Place {
    int row, column;
};
using Layout = Place (*)(int group, int thread, int i);

struct Multiplication {
    int m, n, k;
    int bits; // of an element of a factor
    Layout a, b;
};

const Multiplication multiplications[] = {
    {16, 8, 8, 16, [](int g, int t, int i) { return Place{i < 2 ? g : g + 8, t * 2 + (i & 1)}; },
     [](int g, int t, int i) { return Place{t * 2 + (i & 1), g}; }},
    {16, 8, 16, 16,
     [](int g, int t, int i) {
         return Place{i < 2 || (i >= 4 && i < 6) ? g : g + 8,
                      i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
     },
     [](int g, int t, int i) { return Place{i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g}; }},
    {16, 8, 4, 32, [](int g, int t, int i) { return Place{i == 0 ? g : g + 8, t}; },
     [](int g, int t, int /*i*/) { return Place{t, g}; }},
    {16, 8, 8, 32,
     [](int g, int t, int i) { return Place{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
     [](int g, int t, int i) { return Place{i == 0 ? t : t + 4, g}; }},
    {8, 8, 16, 8, [](int g, int t, int i) { return Place{g, t * 4 + i}; },
     [](int g, int t, int i) { return Place{t * 4 + i, g}; }},
    {16, 8, 16, 8, [](int g, int t, int i) { return Place{i < 4 ? g : g + 8, t * 4 + (i & 3)}; },
     [](int g, int t, int i) { return Place{t * 4 + i, g}; }},
    {16, 8, 32, 8,
     [](int g, int t, int i) {
         return Place{i < 4 || (i >= 8 && i < 12) ? g : g + 8,
                      i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
     },
     [](int g, int t, int i) { return Place{i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g}; }},
    {8, 8, 32, 4, [](int g, int t, int i) { return Place{g, t * 8 + i}; },
     [](int g, int t, int i) { return Place{t * 8 + i, g}; }},
    {16, 8, 32, 4, [](int g, int t, int i) { return Place{i < 8 ? g : g + 8, t * 8 + (i & 7)}; },
     [](int g, int t, int i) { return Place{t * 8 + i, g}; }},
    {16, 8, 64, 4,
     [](int g, int t, int i) {
         return Place{i < 8 || (i >= 16 && i < 24) ? g : g + 8,
                      i < 16 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32};
     },
     [](int g, int t, int i) { return Place{i < 8 ? t * 8 + (i & 7) : t * 8 + (i & 7) + 32, g}; }},
    {8, 8, 4, 64, [](int g, int t, int /*i*/) { return Place{g, t}; },
     [](int g, int t, int /*i*/) { return Place{t, g}; }},
    {16, 8, 4, 64, [](int g, int t, int i) { return Place{i == 0 ? g : g + 8, t}; },
     [](int g, int t, int /*i*/) { return Place{t, g}; }},
    {16, 8, 8, 64,
     [](int g, int t, int i) { return Place{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
     [](int g, int t, int i) { return Place{i == 0 ? t : t + 4, g}; }},
    {16, 8, 16, 64,
     [](int g, int t, int i) {
         return Place{i % 2 == 0 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t};
     },
     [](int g, int t, int i) { return Place{i * 4 + t, g}; }},
};

Place accumulator(int group, int thread, int i) {
    return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

// The registers of all lanes, those of a lane one behind the other.
int packed(const Matrix &matrix) {
    return std::max(32 / info(matrix.type).bits, 1);
}
int lane_elements(const Matrix &matrix) {
    return matrix.rows * matrix.columns / 32;
}
std::size_t word_size(const Matrix &matrix) {
    return matrix.type == Type::f64 ? 8 : 4;
}

std::vector<std::byte> registers_of(Matrix &matrix, Layout layout) {
    const int elements = lane_elements(matrix), in_word = packed(matrix);
    std::vector<std::byte> bytes;
    for (int lane = 0; lane < 32; ++lane) {
        for (int first = 0; first < elements; first += in_word) {
            std::uint64_t word = 0;
            for (int i = first; i < first + in_word; ++i) {
                const Place place = layout(lane / 4, lane % 4, i);
                word |= encoded(matrix.type, matrix.at(place.row, place.column))
                        << ((i - first) * info(matrix.type).bits);
            }
            const auto *const begin = reinterpret_cast<const std::byte *>(&word);
            bytes.insert(bytes.end(), begin, begin + word_size(matrix));
        }
    }
    return bytes;
}

void take_registers(Matrix &matrix, Layout layout, const std::vector<std::byte> &bytes) {
    const int elements = lane_elements(matrix), in_word = packed(matrix);
    const std::byte *at = bytes.data();
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < elements; ++i) {
            std::uint64_t word = 0;
            std::memcpy(&word, at, word_size(matrix));
            const Place place = layout(lane / 4, lane % 4, i);
            const int bits = info(matrix.type).bits;
            word = word >> (i % in_word * bits) & (~std::uint64_t(0) >> (64 - bits));
            matrix.at(place.row, place.column) = decoded(matrix.type, word);
            at += (i + 1) % in_word == 0 ? word_size(matrix) : 0;
        }
    }
}

std::string list(const std::string &name, int number) {
    std::string text = "{";
    for (int i = 0; i < number; ++i) {
        text += (i == 0 ? "%" : ", %") + name + std::to_string(i);
    }
    return text + "}";
}

std::string register_type(const Matrix &matrix) {
    return matrix.type == Type::f64 || matrix.type == Type::f32 ? name_of(matrix.type) : "b32";
}

// Moves the registers of a lane from or to a parameter's memory.
std::string move_registers(const std::string &name, const Matrix &matrix, bool store) {
    const int number = lane_elements(matrix) / packed(matrix);
    const std::string type = register_type(matrix), size = std::to_string(word_size(matrix));
    std::string text = "ld.param.u64 %at, [" + name + "]; mad.wide.u32 %at, %t, " +
                       std::to_string(number) + " * " + size + ", %at;\n";
    for (int i = 0; i < number; ++i) {
        const std::string place = "[%at+" + std::to_string(i) + " * " + size + "]",
                          value = "%" + name + std::to_string(i);
        text += store ? "st.global." + type + " " + place + ", " + value + ";\n"
                      : "ld.global." + type + " " + value + ", " + place + ";\n";
    }
    return text;
}

void multiply(const Multiplication &shape, Type a_type, Type b_type, Type c_type, bool integers,
              const std::string &modifier = "") {
    std::mt19937 random(7);
    Matrix a(shape.m, shape.k, a_type), b(shape.k, shape.n, b_type), c(shape.m, shape.n, c_type),
        d(shape.m, shape.n, c_type);
    a.fill(random, integers);
    b.fill(random, integers);
    c.fill(random, integers);
    const std::string instruction = "mma.sync.aligned.m" + std::to_string(shape.m) + "n" +
                                    std::to_string(shape.n) + "k" + std::to_string(shape.k) +
                                    ".row.col" + modifier + "." + name_of(c_type) + "." +
                                    name_of(a_type) + "." + name_of(b_type) + "." + name_of(c_type);
    INFO(instruction);
    std::string text = ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 "
                       "d) {\n.reg .b32 %t; .reg .b64 %at; mov.u32 %t, %tid.x;\n";
    for (const auto &[name, matrix] :
         {std::pair("a", &a), std::pair("b", &b), std::pair("c", &c), std::pair("d", &d)}) {
        text += ".reg ." + register_type(*matrix) + " %" + name + "<8>;\n";
    }
    text += move_registers("a", a, false) + move_registers("b", b, false) +
            move_registers("c", c, false) + instruction;
    for (const auto &[name, matrix] :
         {std::pair("d", &d), std::pair("a", &a), std::pair("b", &b), std::pair("c", &c)}) {
        text +=
            (name[0] == 'd' ? " " : ", ") + list(name, lane_elements(*matrix) / packed(*matrix));
    }
    text += ";\n" + move_registers("d", d, true) + "ret;\n}";

    TestMemory memory;
    const auto give = [&](const std::vector<std::byte> &bytes) {
        return memory.allocate<std::byte>(bytes);
    };
    const std::uint64_t at_a = give(registers_of(a, shape.a)),
                        at_b = give(registers_of(b, shape.b)),
                        at_c = give(registers_of(c, accumulator));
    const std::uint64_t at_d = memory.allocate(registers_of(d, accumulator).size());
    run(memory, text, {}, at_a, at_b, at_c, at_d);
    take_registers(d, accumulator, memory.read<std::byte>(at_d));
    Matrix expected = product(a, b, c, c_type);
    compare(expected, d, integers);
}

} // namespace

TEST_CASE("mma multiplies fragments of the layouts of the PTX ISA") {
    for (const Multiplication &shape : multiplications) {
        const auto each = [&](std::initializer_list<Type> factors, Type accumulator) {
            for (const Type a : factors) {
                for (const Type b : factors) {
                    multiply(shape, a, b, accumulator, true);
                    multiply(shape, a, b, accumulator, false);
                }
            }
        };
        switch (shape.bits) {
        case 64:
            each({Type::f64}, Type::f64);
            break;
        case 32:
            each({Type::tf32}, Type::f32);
            break;
        case 16:
            each({Type::f16}, Type::f16);
            each({Type::f16}, Type::f32);
            each({Type::bf16}, Type::f32);
            break;
        case 8:
            each({Type::s8, Type::u8}, Type::s32);
            if (shape.m == 16 && shape.k == 32) {
                each({Type::e4m3, Type::e5m2}, Type::f32);
            }
            break;
        default:
            each({Type::s4, Type::u4}, Type::s32);
        }
    }
}

TEST_CASE("mma of integers wraps, and saturates with .satfinite") {
    const auto sum = [](const std::string &modifier, const std::string &a) {
        return values_of("mov.b32 %a3, " + a +
                         "; mov.b32 %a4, 0x7f7f7f7f; mov.b32 %a5, 0x7fffffff;"
                         "mma.sync.aligned.m8n8k16.row.col" +
                         modifier +
                         ".s32.s8.s8.s32"
                         " {%v, %a6}, {%a3}, {%a4}, {%a5, %a5};")[0];
    };
    CHECK(sum("", "0x01010101") == 0x7fffffffU + 16 * 127);
    CHECK(sum(".satfinite", "0x01010101") == 0x7fffffffU);
    CHECK(sum(".satfinite", "0xffffffff") == 0x7fffffffU - 16 * 127);
}

TEST_CASE("mma rounds .f64 as it says") {
    // 2^-60 + 1: the fragments hold a 1 in column 0 of a and row 0 of b, and zeros.
    const auto sum = [](const std::string &rounding) {
        return values_of(".reg .f64 %f<6>; and.b32 %a3, %t, 3; setp.eq.u32 %p0, %a3, 0;"
                         "selp.f64 %f0, 0d3FF0000000000000, 0d0000000000000000, %p0;"
                         "mov.f64 %f1, 0d3C30000000000000;"
                         "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64" +
                         rounding +
                         " {%f2, %f3}, {%f0}, {%f0}, {%f1, %f1};"
                         "mov.b64 {%v, %a4}, %f2;")[0];
    };
    CHECK(sum("") == 0);
    CHECK(sum(".rp") == 1);
    CHECK(sum(".rz") == 0);
}

namespace {

struct Warp {
    int m, n, k;
    Type a, b, c, d;
    int registers_a, registers_b, registers_c, registers_d;
};

constexpr Warp warps[] = {
    {16, 16, 16, Type::f16, Type::f16, Type::f32, Type::f32, 8, 8, 8, 8},
    {32, 8, 16, Type::f16, Type::f16, Type::f16, Type::f32, 8, 8, 4, 8},
    {8, 32, 16, Type::f16, Type::f16, Type::f32, Type::f16, 8, 8, 8, 4},
    {16, 16, 16, Type::f16, Type::f16, Type::f16, Type::f16, 8, 8, 4, 4},
    {16, 16, 16, Type::bf16, Type::bf16, Type::f32, Type::f32, 4, 4, 8, 8},
    {32, 8, 16, Type::bf16, Type::bf16, Type::f32, Type::f32, 8, 2, 8, 8},
    {8, 32, 16, Type::bf16, Type::bf16, Type::f32, Type::f32, 2, 8, 8, 8},
    {16, 16, 16, Type::u8, Type::u8, Type::s32, Type::s32, 2, 2, 8, 8},
    {32, 8, 16, Type::s8, Type::s8, Type::s32, Type::s32, 4, 1, 8, 8},
    {8, 32, 16, Type::s8, Type::s8, Type::s32, Type::s32, 1, 4, 8, 8},
    {16, 16, 8, Type::tf32, Type::tf32, Type::f32, Type::f32, 4, 4, 8, 8},
    {8, 8, 4, Type::f64, Type::f64, Type::f64, Type::f64, 1, 1, 2, 2},
};

// The elements of a matrix in memory, with `gap` elements behind each row or column.
std::vector<std::byte> in_memory(Matrix &matrix, bool columns_first, int gap) {
    const int stride = (columns_first ? matrix.rows : matrix.columns) + gap;
    const std::size_t size = size_of(matrix.type);
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(stride * (columns_first ? matrix.columns : matrix.rows)) * size);
    for (int row = 0; row < matrix.rows; ++row) {
        for (int column = 0; column < matrix.columns; ++column) {
            const std::uint64_t bits = encoded(matrix.type, matrix.at(row, column));
            const int number = columns_first ? column * stride + row : row * stride + column;
            std::memcpy(bytes.data() + static_cast<std::size_t>(number) * size, &bits, size);
        }
    }
    return bytes;
}

void multiply(const Warp &shape, int layouts, int gap, const std::string &space) {
    std::mt19937 random(5);
    Matrix a(shape.m, shape.k, shape.a), b(shape.k, shape.n, shape.b), c(shape.m, shape.n, shape.c),
        d(shape.m, shape.n, shape.d);
    a.fill(random, true);
    b.fill(random, true);
    c.fill(random, true);
    const bool columns[] = {(layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0,
                            (layouts & 8) != 0};
    const auto layout = [&](int i) { return columns[i] ? ".col" : ".row"; };
    const std::string size = ".m" + std::to_string(shape.m) + "n" + std::to_string(shape.n) + "k" +
                             std::to_string(shape.k);
    std::string text = ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param "
                       ".u64 pd) {\n.reg .b64 %at;\n";
    const auto declare = [&](const std::string &name, const Matrix &matrix) {
        text += ".reg ." + register_type(matrix) + " %" + name + "<8>;\n";
    };
    declare("a", a);
    declare("b", b);
    declare("c", c);
    declare("d", d);
    const auto stride = [&](const Matrix &matrix, bool columns_first) {
        return gap == 0
                   ? ""
                   : ", " + std::to_string((columns_first ? matrix.rows : matrix.columns) + gap);
    };
    const auto load = [&](const std::string &name, const Matrix &matrix, int i, int registers) {
        text += "ld.param.u64 %at, [p" + name + "];\nwmma.load." + name + ".sync.aligned" +
                layout(i) + size + space + "." + name_of(matrix.type) + " " +
                list(name, registers) + ", [%at]" + stride(matrix, columns[i]) + ";\n";
    };
    load("a", a, 0, shape.registers_a);
    load("b", b, 1, shape.registers_b);
    load("c", c, 2, shape.registers_c);
    const std::string factors =
        shape.a == Type::f16 ? "" : "." + name_of(shape.a) + "." + name_of(shape.b);
    text += std::string("wmma.mma.sync.aligned") + layout(0) + layout(1) + size + "." +
            name_of(shape.d) + factors + "." + name_of(shape.c) + " " +
            list("d", shape.registers_d) + ", " + list("a", shape.registers_a) + ", " +
            list("b", shape.registers_b) + ", " + list("c", shape.registers_c) + ";\n";
    text += "ld.param.u64 %at, [pd];\nwmma.store.d.sync.aligned" + std::string(layout(3)) + size +
            space + "." + name_of(shape.d) + " [%at], " + list("d", shape.registers_d) +
            stride(d, columns[3]) + ";\nret;\n}";
    INFO(text);

    TestMemory memory;
    const auto give = [&](Matrix &matrix, int i) {
        return memory.allocate<std::byte>(in_memory(matrix, columns[i], gap));
    };
    const std::uint64_t at_a = give(a, 0), at_b = give(b, 1), at_c = give(c, 2);
    const std::uint64_t at_d = give(d, 3);
    run(memory, text, {}, at_a, at_b, at_c, at_d);
    Matrix expected = product(a, b, c, shape.d);
    CHECK(memory.read<std::byte>(at_d) == in_memory(expected, columns[3], gap));
}

} // namespace

TEST_CASE("wmma multiplies matrices of all layouts") {
    for (const Warp &shape : warps) {
        for (int layouts = 0; layouts < 16; ++layouts) {
            multiply(shape, layouts, layouts % 2 * 8, layouts % 3 == 0 ? ".global" : "");
        }
    }
}

namespace {

// Puts 4 matrices of 8 x 8 16-bit numbers, number 100 m + 10 row + column, into shared memory, with
// the address of each lane's row in %a3.
const std::string put_matrices = R"(
    .shared .align 16 .b8 cells[512];
    mov.u64 %w0, cells;
    cvt.u32.u64 %a4, %w0;
    shl.b32 %a3, %t, 4;
    add.u32 %a3, %a3, %a4;
    shr.u32 %a5, %t, 3;
    mul.lo.u32 %a5, %a5, 100;
    and.b32 %a6, %t, 7;
    mad.lo.u32 %a5, %a6, 10, %a5;
    mad.lo.u32 %a5, %a5, 65537, 0x10000;
    st.shared.u32 [%a3], %a5;
    add.u32 %a5, %a5, 0x20002;
    st.shared.u32 [%a3+4], %a5;
    add.u32 %a5, %a5, 0x20002;
    st.shared.u32 [%a3+8], %a5;
    add.u32 %a5, %a5, 0x20002;
    st.shared.u32 [%a3+12], %a5;
    bar.warp.sync -1;
)";

std::vector<std::uint32_t> expected_pairs(std::uint32_t matrix, bool transposed) {
    std::vector<std::uint32_t> values;
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
        const auto element = [&](std::uint32_t column) {
            const std::uint32_t row = lane / 4;
            return matrix * 100 + (transposed ? column * 10 + row : row * 10 + column);
        };
        values.push_back(element(lane % 4 * 2) | element(lane % 4 * 2 + 1) << 16);
    }
    return values;
}

} // namespace

TEST_CASE("ldmatrix gives each lane two numbers of a row") {
    const std::string prefix = put_matrices + "ldmatrix.sync.aligned.m8n8";
    CHECK(values_of(prefix + ".x1.shared.b16 {%v}, [%a3];") == expected_pairs(0, false));
    CHECK(values_of(prefix + ".x2.shared.b16 {%a7, %v}, [%a3];") == expected_pairs(1, false));
    CHECK(values_of(prefix + ".x4.shared::cta.b16 {%a3, %a4, %a5, %v}, [%a3];") ==
          expected_pairs(3, false));
    CHECK(values_of(prefix + ".x4.trans.shared.b16 {%a6, %a7, %v, %a8}, [%a3];") ==
          expected_pairs(2, true));
    CHECK(values_of(put_matrices +
                    "cvt.u64.u32 %w1, %a3; cvta.shared.u64 %w1, %w1;"
                    "ldmatrix.sync.aligned.m8n8.x4.b16 {%a6, %v, %a7, %a8}, [%w1];") ==
          expected_pairs(1, false));
}

TEST_CASE("movmatrix transposes, and stmatrix reverses ldmatrix") {
    CHECK(values_of(put_matrices + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%a5}, [%a3];"
                                   "movmatrix.sync.aligned.m8n8.trans.b16 %v, %a5;") ==
          expected_pairs(0, true));
    // The first two matrices change places.
    CHECK(values_of(put_matrices +
                    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a5, %a6, %a7, %a8}, [%a3];"
                    "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%a3], {%a6, %a5};"
                    "bar.warp.sync -1;"
                    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%a5, %v}, [%a3];") ==
          expected_pairs(0, true));
}

TEST_CASE("matrices outside of memory are faults") {
    TestMemory memory;
    const std::uint64_t out = memory.allocate(128);
    const KernelFault fault =
        fault_of(memory,
                 kernel_of(put_matrices + "add.u32 %a3, %a3, 512; "
                                          "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%v}, [%a3];"),
                 {}, out);
    CHECK(fault.kind == KernelFault::Kind::illegal_address);
    CHECK(fault.space == Space::shared);
    CHECK(fault.size == 16);
}
