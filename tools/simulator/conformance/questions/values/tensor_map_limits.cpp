// The limits of each parameter of a tensor map, and where the map itself may be.
#include "row.hpp"

#include <cstring>
#include <vector>

namespace record::QUESTIONS {

#if CUDA_VERSION >= 12000

namespace {

constexpr unsigned int most_rank = 6;
enum class Form { tiled, columns, wide };

// The parameters of each call, all valid.
struct Parameters {
    explicit Parameters(CUdeviceptr p, Form its_form = Form::tiled) : form(its_form), address(p) {
        rank = form == Form::tiled ? 2 : 3;
        for (unsigned int i = 0; i < most_rank; ++i) {
            sizes[i] = i == 0 ? 64 : 8;
            strides[i] = std::uint64_t(256) << (3 * i);
            box[i] = i == 0 ? 16 : 2;
            steps[i] = 1;
        }
    }

    CUresult encode() { return encode(without_map ? nullptr : &own); }
    CUresult encode(void *at) {
        auto *map = static_cast<CUtensorMap *>(at);
        const auto data = static_cast<CUtensorMapDataType>(type);
        const auto by_interleave = static_cast<CUtensorMapInterleave>(interleave);
        const auto by_swizzle = static_cast<CUtensorMapSwizzle>(swizzle);
        const auto by_promotion = static_cast<CUtensorMapL2promotion>(promotion);
        const auto by_fill = static_cast<CUtensorMapFloatOOBfill>(fill);
        const cuuint64_t *const of_sizes = without_sizes ? nullptr : sizes;
        const cuuint64_t *const of_strides = without_strides ? nullptr : strides;
        const cuuint32_t *const of_box = without_box ? nullptr : box;
        const cuuint32_t *const of_steps = without_steps ? nullptr : steps;
        void *const memory = reinterpret_cast<void *>(address);
        switch (form) {
        case Form::tiled:
            return d.cuTensorMapEncodeTiled(map, data, rank, memory, of_sizes, of_strides, of_box,
                                            of_steps, by_interleave, by_swizzle, by_promotion,
                                            by_fill);
        case Form::columns:
            return d.cuTensorMapEncodeIm2col(
                map, data, rank, memory, of_sizes, of_strides, without_box ? nullptr : lower,
                without_box ? nullptr : upper, channels, pixels, of_steps, by_interleave,
                by_swizzle, by_promotion, by_fill);
        case Form::wide:
            break;
        }
#if CUDA_VERSION >= 12080
        return d.cuTensorMapEncodeIm2colWide(
            map, data, rank, memory, of_sizes, of_strides, lower[0], upper[0], channels, pixels,
            of_steps, by_interleave, static_cast<CUtensorMapIm2ColWideMode>(mode), by_swizzle,
            by_promotion, by_fill);
#else
        return CUDA_ERROR_NOT_SUPPORTED;
#endif
    }

    Form form;
    CUdeviceptr address;
    unsigned int rank;
    int type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32, interleave = 0, swizzle = 0, promotion = 0,
        fill = 0, mode = 0;
    cuuint64_t sizes[most_rank], strides[most_rank];
    cuuint32_t box[most_rank], steps[most_rank];
    int lower[3] = {0, 0, 0}, upper[3] = {0, 0, 0};
    cuuint32_t channels = 16, pixels = 16;
    bool without_map = false, without_sizes = false, without_strides = false, without_box = false,
         without_steps = false;
    CUtensorMap own{};
};

std::string number(unsigned long long value) {
    return std::to_string(value);
}

// Asks with one form; each question changes the valid parameters.
class Questions {
  public:
    Questions(Form form, const char *name) : form_(form), name_(name) {
        p_ = MAKE(cuMemAlloc, 1 << 20);
    }
    ~Questions() { d.cuMemFree(p_); }

    template <class Change>
    void add(Row &row, const Change &change) const {
        Parameters parameters(p_, form_);
        change(parameters);
        row.add(parameters.encode());
    }
    template <class Change>
    void operator()(const std::string &what, const Change &change) const {
        Row row;
        add(row, change);
        print(row, what);
    }
    void print(const Row &row, const std::string &what) const {
        row.print(std::string(name_) + ", " + what);
    }

  private:
    Form form_;
    const char *name_;
    CUdeviceptr p_;
};

void ask_about_types(const Questions &with) {
    with("valid parameters", [](Parameters &) {});
    for (int type = -1; type <= 16; ++type) {
        Row row;
        with.add(row, [&](Parameters &p) { p.type = type; });
        with.add(row, [&](Parameters &p) {
            p.type = type;
            p.sizes[0] = p.box[0] = p.channels = 128;
            p.strides[0] = 2048;
            p.strides[1] = 1 << 15;
            p.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
        });
        with.add(row, [&](Parameters &p) {
            p.type = type;
            p.fill = 1;
        });
        for (const unsigned int inner : {1u, 2u, 4u, 8u, 32u, 64u, 128u, 256u}) {
            with.add(row, [&](Parameters &p) {
                p.type = type;
                p.box[0] = p.channels = inner;
            });
        }
        with.print(row,
                   "type " + std::to_string(type) +
                       ": 16, 128 with swizzle 128, fill 1; inner 1, 2, 4, 8, 32, 64, 128, 256");
    }
    for (unsigned int rank = 0; rank <= 6; ++rank) {
        Row row;
        for (int interleave = -1; interleave <= 3; ++interleave) {
            with.add(row, [&](Parameters &p) {
                p.rank = rank;
                p.interleave = interleave;
            });
        }
        with.print(row, "rank " + number(rank) + ", interleave -1 to 3");
    }
    for (int interleave = 0; interleave <= 2; ++interleave) {
        Row row;
        for (int swizzle = -1; swizzle <= 7; ++swizzle) {
            for (const unsigned int inner : {4u, 8u, 16u, 32u, 64u}) {
                with.add(row, [&](Parameters &p) {
                    p.rank = 3;
                    p.interleave = interleave;
                    p.swizzle = swizzle;
                    p.box[0] = p.channels = inner;
                });
            }
        }
        with.print(row, "interleave " + std::to_string(interleave) +
                            ", swizzle -1 to 7, each with inner 4, 8, 16, 32, 64");
    }
    Row row;
    for (int value = -1; value <= 4; ++value) {
        with.add(row, [&](Parameters &p) { p.promotion = value; });
        with.add(row, [&](Parameters &p) { p.fill = value; });
    }
    with.print(row, "promotion and fill -1 to 4");
}

void ask_about_places(const Questions &with) {
    for (const unsigned int offset : {1u, 4u, 8u, 15u, 16u, 32u, 48u, 64u}) {
        Row row;
        for (const int interleave : {0, 1, 2}) {
            with.add(row, [&](Parameters &p) {
                p.rank = 3;
                p.address += offset;
                p.interleave = interleave;
                p.swizzle = interleave == 2 ? CU_TENSOR_MAP_SWIZZLE_32B : 0;
            });
        }
        with.print(row, "address + " + number(offset) + ", interleave 0 to 2");
    }
    static char host[256];
    with("address 0", [](Parameters &p) { p.address = 0; });
    with("address of nothing", [](Parameters &p) { p.address = 0x100000; });
    with("address of pageable memory",
         [](Parameters &p) { p.address = reinterpret_cast<CUdeviceptr>(host) / 64 * 64 + 64; });
    with("address beyond 2^57", [](Parameters &p) { p.address = std::uint64_t(1) << 57; });
    with("address with every bit but five", [](Parameters &p) { p.address = ~std::uint64_t(31); });
    for (const std::uint64_t stride :
         {0ull, 1ull, 8ull, 16ull, 32ull, 48ull, 100ull, 240ull, 255ull, 256ull, 1ull << 39,
          (1ull << 40) - 16, 1ull << 40, 1ull << 41, 1ull << 63}) {
        Row row;
        for (const int interleave : {0, 2}) {
            with.add(row, [&](Parameters &p) {
                p.rank = 3;
                p.strides[0] = stride;
                p.interleave = interleave;
                p.swizzle = interleave == 2 ? CU_TENSOR_MAP_SWIZZLE_32B : 0;
            });
        }
        with.add(row, [&](Parameters &p) {
            p.rank = 3;
            p.strides[1] = stride;
        });
        with.add(row, [&](Parameters &p) { p.strides[p.rank - 1] = stride; });
        with.print(row, "stride " + number(stride) +
                            ": first with interleave 0, with 2, second, not used");
    }
}

void ask_about_sizes(const Questions &with) {
    for (const std::uint64_t size : {0ull, 1ull, 3ull, 63ull, 64ull, (1ull << 32) - 1, 1ull << 32,
                                     (1ull << 32) + 1, 1ull << 33, 1ull << 63}) {
        Row row;
        for (const unsigned int which : {0u, 1u, 2u}) {
            with.add(row, [&](Parameters &p) { p.sizes[which] = size; });
        }
        with.print(row, "size " + number(size) + " of dimensions 0, 1, 2");
    }
    for (const unsigned int box :
         {0u, 1u, 2u, 3u, 4u, 5u, 12u, 16u, 20u, 64u, 128u, 255u, 256u, 257u, 512u, 1u << 31}) {
        Row row;
        for (const unsigned int which : {0u, 1u, 2u}) {
            with.add(row, [&](Parameters &p) {
                p.box[which] = box;
                if (which == 0) {
                    p.channels = box;
                }
            });
        }
        with.add(row, [&](Parameters &p) {
            p.type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
            p.box[0] = p.channels = box;
        });
        with.print(row, "box " + number(box) + " of dimensions 0, 1, 2, and of bytes");
    }
    with("box larger than the tensor", [](Parameters &p) {
        p.sizes[0] = p.sizes[1] = 4;
        p.box[0] = p.box[1] = 64;
        p.channels = 64;
    });
    Row rows;
    for (const unsigned int elements : {64u, 128u, 256u}) {
        with.add(rows, [&](Parameters &p) {
            p.rank = 3;
            p.box[0] = elements;
            p.box[1] = p.box[2] = 256;
        });
    }
    with.print(rows, "a box of 256 rows, inner 64, 128, 256");
    for (const unsigned int step : {0u, 1u, 2u, 3u, 7u, 8u, 9u, 255u}) {
        Row row;
        for (const unsigned int which : {0u, 1u, 2u}) {
            for (const int interleave : {0, 1}) {
                with.add(row, [&](Parameters &p) {
                    p.rank = 3;
                    p.interleave = interleave;
                    p.steps[which] = step;
                });
            }
        }
        with.print(row, "element stride " + number(step) +
                            " of dimensions 0, 1, 2, each with interleave 0, 1");
    }
}

// Boxes of columns of images.
void ask_about_pixels(const Questions &with) {
    for (const unsigned int rank : {3u, 4u, 5u}) {
        Row row;
        for (const int corner :
             {-40000, -32769, -32768, -32767, -129,  -128,  -127,  -33,  -32, -17,
              -16,    -15,    -8,     0,      7,     8,     14,    15,   16,  31,
              32,     127,    128,    129,    32766, 32767, 32768, 40000}) {
            with.add(row, [&](Parameters &p) {
                p.rank = rank;
                p.lower[0] = corner;
            });
            with.add(row, [&](Parameters &p) {
                p.rank = rank;
                p.upper[0] = corner;
            });
            with.add(row, [&](Parameters &p) {
                p.rank = rank;
                p.lower[rank - 3] = corner;
            });
        }
        with.print(row, "rank " + number(rank) +
                            ", corners from -40000 to 40000: lower, upper, last lower");
    }
    with("lower corner above the upper one", [](Parameters &p) {
        p.lower[0] = 5;
        p.upper[0] = -60;
    });
    Row row;
    for (const unsigned int pixels : {0u, 1u, 16u, 128u, 512u, 1023u, 1024u, 1025u, 1u << 31}) {
        for (const int mode : {0, 1}) {
            with.add(row, [&](Parameters &p) {
                p.pixels = pixels;
                p.mode = mode;
            });
        }
    }
    with.print(row, "pixels 0, 1, 16, 128, 512, 1023, 1024, 1025, 2^31, each with mode 0, 1");
}

void ask_all(Form form, const char *name) {
    const Questions with(form, name);
    ask_about_types(with);
    ask_about_places(with);
    ask_about_sizes(with);
    if (form != Form::tiled) {
        ask_about_pixels(with);
    }
}

// The map at each offset from a boundary of 128 bytes: the call, whether it writes the same bytes,
// and cuTensorMapReplaceAddress there.
void ask_about_maps(Form form, const char *name) {
    alignas(128) static char buffer[4 * sizeof(CUtensorMap)];
    CUdeviceptr p = MAKE(cuMemAlloc, 1 << 20);
    Parameters aligned(p, form);
    aligned.encode();
    Row row;
    for (unsigned int offset = 0; offset < 72; offset += offset < 4 ? 1 : 4) {
        std::memset(buffer, 0xab, sizeof buffer);
        Parameters parameters(p, form);
        const CUresult status = parameters.encode(buffer + offset);
        const bool same = std::memcmp(buffer + offset, &aligned.own, sizeof(CUtensorMap)) == 0;
        const CUresult replaced = d.cuTensorMapReplaceAddress(
            reinterpret_cast<CUtensorMap *>(buffer + offset), reinterpret_cast<void *>(p + 4096));
        row.add(status, static_cast<int>(same), static_cast<int>(replaced));
    }
    Parameters invalid(p, form);
    invalid.rank = 0;
    row.add(invalid.encode(buffer + 8));
    row.print(std::string(name) + ", maps at + 0 to 68, rank 0 at + 8");
    d.cuMemFree(p);
}

} // namespace

SECTION("tensor_map_places", start) {
    ask_about_maps(Form::tiled, "cuTensorMapEncodeTiled");
    ask_about_maps(Form::columns, "cuTensorMapEncodeIm2col");
    ask_about_maps(Form::wide, "cuTensorMapEncodeIm2colWide");
}

SECTION("tensor_map_limits_tiled", start) {
    ask_all(Form::tiled, "cuTensorMapEncodeTiled");
}

SECTION("tensor_map_limits_columns", start) {
    ask_all(Form::columns, "cuTensorMapEncodeIm2col");
}

SECTION("tensor_map_limits_wide", start) {
    ask_all(Form::wide, "cuTensorMapEncodeIm2colWide");
}

// Each may crash the process.
SECTION("tensor_map_nulls") {
    const auto without = [](Form form, const char *name, const char *what, bool Parameters::*part,
                            unsigned int rank = 3) {
        row_apart(std::string(name) + " without " + what, [&](Row &row) {
            start();
            const Questions with(form, name);
            with.add(row, [&](Parameters &p) {
                p.rank = rank;
                p.*part = true;
            });
        });
    };
    for (const auto &[form, name] :
         {std::pair<Form, const char *>{Form::tiled, "cuTensorMapEncodeTiled"},
          {Form::columns, "cuTensorMapEncodeIm2col"},
          {Form::wide, "cuTensorMapEncodeIm2colWide"}}) {
        without(form, name, "a map", &Parameters::without_map);
        without(form, name, "sizes", &Parameters::without_sizes);
        without(form, name, "strides", &Parameters::without_strides);
        without(form, name, "a box", &Parameters::without_box);
        without(form, name, "element strides", &Parameters::without_steps);
    }
    without(Form::tiled, "cuTensorMapEncodeTiled, rank 1", "strides", &Parameters::without_strides,
            1);
}

// Boxes around the size of shared memory.
SECTION("tensor_map_boxes", start) {
    const Questions with(Form::tiled, "cuTensorMapEncodeTiled");
    const auto add_box = [&](Row &row, unsigned int inner, unsigned int rows, unsigned int layers,
                             unsigned int step) {
        with.add(row, [&](Parameters &p) {
            p.rank = 3;
            p.box[0] = inner;
            p.box[1] = rows;
            p.box[2] = layers;
            p.steps[1] = step;
        });
    };
    for (const unsigned int layers : {1u, 2u, 3u, 4u, 5u, 6u, 8u, 12u, 16u, 32u, 64u, 128u}) {
        Row row;
        add_box(row, 64, 256, layers, 1);
        add_box(row, 64, 256, layers, 2);
        add_box(row, 4, 256, layers, 1);
        row.print(number(layers) + " times 256 x 64, with a step of 2, 256 x 4");
    }
    Row row;
    for (const unsigned int rows : {224u, 226u, 227u, 228u, 229u, 232u}) {
        add_box(row, 256, rows, 1, 1);
    }
    row.print("224, 226, 227, 228, 229, 232 rows of 1 KiB");
}

// The address in a map that has been encoded.
SECTION("tensor_map_addresses", start) {
    CUdeviceptr p = MAKE(cuMemAlloc, 1 << 20);
    for (const int interleave : {0, 2}) {
        Parameters parameters(p);
        parameters.rank = 3;
        parameters.interleave = interleave;
        parameters.swizzle = interleave == 2 ? CU_TENSOR_MAP_SWIZZLE_32B : 0;
        ask("cuTensorMapEncodeTiled, interleave " + std::to_string(interleave),
            parameters.encode());
        for (const std::uint64_t address :
             {std::uint64_t(0), std::uint64_t(1), std::uint64_t(15), std::uint64_t(16),
              std::uint64_t(32), std::uint64_t(48), std::uint64_t(0x100000),
              (std::uint64_t(1) << 57), ~std::uint64_t(31)}) {
            ask("cuTensorMapReplaceAddress by " + number(address),
                d.cuTensorMapReplaceAddress(&parameters.own, reinterpret_cast<void *>(address)));
        }
    }
    CUtensorMap zeros{}, ones;
    std::memset(&ones, 0xff, sizeof ones);
    ask("cuTensorMapReplaceAddress in zeros",
        d.cuTensorMapReplaceAddress(&zeros, reinterpret_cast<void *>(p)));
    ask("cuTensorMapReplaceAddress in ones",
        d.cuTensorMapReplaceAddress(&ones, reinterpret_cast<void *>(p)));
    d.cuMemFree(p);
}

// Without a context, and before cuInit.
SECTION("tensor_maps_without_context") {
    Parameters parameters(0x100000);
    ask("cuTensorMapEncodeTiled before cuInit", parameters.encode());
    d.cuInit(0);
    ask("cuTensorMapEncodeTiled without a context", parameters.encode());
    Parameters columns(0x100000, Form::columns);
    ask("cuTensorMapEncodeIm2col without a context", columns.encode());
    ask("cuTensorMapReplaceAddress without a context",
        d.cuTensorMapReplaceAddress(&parameters.own, reinterpret_cast<void *>(0x200000)));
}

#endif

} // namespace record::QUESTIONS
