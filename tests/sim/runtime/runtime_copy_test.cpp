// Copies of the runtime: kinds, rectangles, boxes, arrays, peers, batches, and the units of their
// positions and extents.
#include "handles.hpp"

#include <numeric>

using namespace sim_test;

namespace {

using Bytes = std::vector<unsigned char>;

Bytes counting(std::size_t size) {
    Bytes bytes(size);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    return bytes;
}

class Memory : public RuntimeMemory {
  public:
    explicit Memory(std::size_t size) : RuntimeMemory(size), size_(size) {
        REQUIRE(r.cudaMemset(get(), 0xee, size) == cudaSuccess);
    }
    // Copies from pageable memory or within the device may be pending after their call.
    ~Memory() { CHECK(r.cudaDeviceSynchronize() == cudaSuccess); }

    Bytes bytes() const {
        Bytes found(size_);
        REQUIRE(r.cudaMemcpy(found.data(), *this, size_, cudaMemcpyDeviceToHost) == cudaSuccess);
        return found;
    }

  private:
    std::size_t size_;
};

cudaArray_t make_array(const cudaChannelFormatDesc &format, cudaExtent extent) {
    return got<cudaArray_t>(&Runtime::cudaMalloc3DArray, out, &format, extent, 0);
}
void free_array(cudaArray_t array) {
    CHECK(r.cudaFreeArray(array) == cudaSuccess);
}
struct Array : Owned<cudaArray_t, free_array> {
    Array(const cudaChannelFormatDesc &format, cudaExtent extent)
        : Owned(make_array(format, extent)) {}
};

constexpr cudaChannelFormatDesc two_shorts{16, 16, 0, 0, cudaChannelFormatKindUnsigned};
constexpr auto in = cudaMemcpyHostToDevice, out_of = cudaMemcpyDeviceToHost,
               within = cudaMemcpyDeviceToDevice, no_kind = static_cast<cudaMemcpyKind>(99);
constexpr auto invalid_value = cudaErrorInvalidValue, wrong_pitch = cudaErrorInvalidPitchValue,
               wrong_direction = cudaErrorInvalidMemcpyDirection,
               no_array = cudaErrorInvalidResourceHandle;

} // namespace

TEST_CASE("cudaMemcpy copies in all directions") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Bytes source = counting(100);
    Bytes back(100), third(100);
    const Memory a(100), b(100);
    CHECK(r.cudaMemcpy(a, source.data(), 100, in) == cudaSuccess);
    CHECK(r.cudaMemcpy(b, a, 100, within) == cudaSuccess);
    CHECK(r.cudaMemcpy(back.data(), b, 100, out_of) == cudaSuccess);
    CHECK(back == source);
    CHECK(r.cudaMemcpy(third.data(), back.data(), 100, cudaMemcpyHostToHost) == cudaSuccess);
    CHECK(third == source);
    std::memset(back.data(), 0, 100);
    CHECK(r.cudaMemcpy(back.data(), b, 100, cudaMemcpyDefault) == cudaSuccess);
    CHECK(back == source);
    CHECK(r.cudaMemcpy(a, source.data(), 50, cudaMemcpyDefault) == cudaSuccess);
}

TEST_CASE("arguments of runtime copies are checked") {
    Bytes host(100);
    const Memory there(100);
    void *const here = host.data();
    cudaMemcpy3DParms copy{.extent = {1, 1, 1}, .kind = no_kind};
    check_all(wrong_direction,
              {r.cudaMemcpy(there, here, 100, no_kind),
               r.cudaMemcpyAsync(there, here, 64, no_kind, nullptr),
               r.cudaMemcpy2D(there, 10, here, 10, 10, 2, no_kind), r.cudaMemcpy3D(&copy)});
    copy.kind = in; // both ends are null
    check_all(invalid_value,
              {r.cudaMemcpy(there, here, 101, in), r.cudaMemcpy(there, nullptr, 1, in),
               r.cudaMemcpy(nullptr, here, 1, in), r.cudaMemcpy3D(nullptr), r.cudaMemcpy3D(&copy),
               // A pageable host address is not device memory.
               r.cudaMemcpy(here, here, 50, out_of), r.cudaMemcpy(here, there, 50, within)});
    check_all(wrong_pitch, {r.cudaMemcpy2D(there, 5, here, 10, 10, 2, in),
                            r.cudaMemcpy2D(there, 10, here, 5, 10, 2, in),
                            r.cudaMemcpy2D(there, 1, here, 1, 10, 1, in)});
    CHECK(r.cudaMemcpyToSymbol(here, here, 1, 0, in) == cudaErrorInvalidSymbol);
}

TEST_CASE("asynchronous copies of the runtime run in stream order") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream stream;
    const PinnedMemory pinned(64), result(64);
    std::memset(pinned, 5, 64);
    const Memory a(64), b(64);
    CHECK(r.cudaMemcpyAsync(a, pinned, 64, in, stream) == cudaSuccess);
    CHECK(r.cudaMemcpyAsync(b, a, 64, within, stream) == cudaSuccess);
    CHECK(r.cudaMemcpyAsync(result, b, 64, cudaMemcpyDefault, stream) == cudaSuccess);
    CHECK(r.cudaMemcpyAsync(result, b, 64, no_kind, stream) == wrong_direction);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(std::memcmp(result, pinned, 64) == 0);
}

TEST_CASE("cudaMemcpy2D copies rectangles with both pitches") {
    const Bytes source = counting(4 * 16);
    const Memory device(4 * 32);
    // 4 rows of 10 bytes; the pitch is 16 on the host, 32 on the device.
    CHECK(r.cudaMemcpy2D(device, 32, source.data(), 16, 10, 4, in) == cudaSuccess);
    const Bytes found = device.bytes();
    for (std::size_t row = 0; row < 4; ++row) {
        CHECK(found[row * 32] == row * 16);
        CHECK(found[row * 32 + 9] == row * 16 + 9);
        CHECK(found[row * 32 + 10] == 0xee);
    }
    Bytes back(4 * 10);
    CHECK(r.cudaMemcpy2DAsync(back.data(), 10, device, 32, 10, 4, out_of, nullptr) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(back[39] == 3 * 16 + 9);
}

TEST_CASE("boxes of linear memory have positions and widths in bytes") {
    const Bytes source = counting(8 * 4 * 3); // 8 wide, 4 high, 3 deep
    const Memory device(16 * 5 * 3);          // 16 wide, 5 high
    cudaMemcpy3DParms copy{.srcPos = {1, 1, 1},
                           .srcPtr = {const_cast<unsigned char *>(source.data()), 8, 8, 4},
                           .dstPos = {2, 3, 1},
                           .dstPtr = {device, 16, 16, 5},
                           .extent = {4, 2, 2},
                           .kind = in};
    CHECK(r.cudaMemcpy3D(&copy) == cudaSuccess);
    const Bytes found = device.bytes();
    for (std::size_t z = 0; z < 2; ++z) {
        for (std::size_t y = 0; y < 2; ++y) {
            for (std::size_t x = 0; x < 4; ++x) {
                CHECK(found[((z + 1) * 5 + y + 3) * 16 + x + 2] ==
                      source[((z + 1) * 4 + y + 1) * 8 + x + 1]);
            }
        }
    }
    CHECK(found[(1 * 5 + 3) * 16 + 1] == 0xee);
    CHECK(found[(1 * 5 + 3) * 16 + 6] == 0xee);
    copy.kind = no_kind;
    CHECK(r.cudaMemcpy3D(&copy) == wrong_direction);
    copy.kind = in;
    copy.srcPtr.pitch = 3;
    CHECK(r.cudaMemcpy3D(&copy) == wrong_pitch);
    copy.srcPtr.ptr = nullptr;
    CHECK(r.cudaMemcpy3D(&copy) == invalid_value);
}

TEST_CASE("boxes with an array have positions and widths in elements") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Array array(two_shorts, {8, 4, 2}); // elements of 4 bytes
    const Bytes source = counting(32 * 4 * 2);
    cudaMemcpy3DParms into{.srcPtr = {const_cast<unsigned char *>(source.data()), 32, 8, 4},
                           .dstArray = array,
                           .extent = {8, 4, 2},
                           .kind = in};
    CHECK(r.cudaMemcpy3D(&into) == cudaSuccess);
    Bytes back(12);
    cudaMemcpy3DParms out{.srcArray = array,
                          .srcPos = {2, 3, 1},
                          .dstPtr = {back.data(), 12, 12, 1},
                          .extent = {3, 1, 1},
                          .kind = out_of};
    CHECK(r.cudaMemcpy3DAsync(&out, nullptr) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(back == Bytes(source.begin() + (4 + 3) * 32 + 8, source.begin() + (4 + 3) * 32 + 20));
    out.extent = {8, 1, 1}; // past the end of the row
    CHECK(r.cudaMemcpy3D(&out) == invalid_value);
    out.dstArray = array; // two destinations
    CHECK(r.cudaMemcpy3D(&out) == invalid_value);
}

TEST_CASE("rectangles of an array have offsets in bytes and rows") {
    const Array array(two_shorts, {8, 4, 0}), other(two_shorts, {8, 4, 0});
    const Bytes source = counting(32 * 4);
    CHECK(r.cudaMemcpy2DToArray(array, 0, 0, source.data(), 32, 32, 4, in) == cudaSuccess);
    CHECK(r.cudaMemcpy2DArrayToArray(other, 4, 1, array, 8, 2, 16, 2, within) == cudaSuccess);
    Bytes back(16);
    CHECK(r.cudaMemcpy2DFromArray(back.data(), 16, other, 4, 2, 16, 1, out_of) == cudaSuccess);
    CHECK(back == Bytes(source.begin() + 3 * 32 + 8, source.begin() + 3 * 32 + 24));
    CHECK(r.cudaMemcpy2DToArray(nullptr, 0, 0, source.data(), 32, 32, 4, in) == no_array);
    CHECK(r.cudaMemcpy2DToArray(array, 0, 0, source.data(), 16, 32, 4, in) == wrong_pitch);
    CHECK(r.cudaMemcpy2DToArray(array, 4, 0, source.data(), 32, 32, 4, in) == invalid_value);
    CHECK(r.cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, 4, 1, in) == wrong_direction);
}

TEST_CASE("an empty copy succeeds even with invalid arguments") {
    const Memory memory(64);
    char local[64] = {};
    cudaMemcpy3DParms copy{}, flat{.extent = {1, 1, 0}, .kind = no_kind};
    check_all(cudaSuccess,
              {r.cudaMemcpy(memory, local, 0, no_kind), r.cudaMemcpy(memory, nullptr, 0, in),
               r.cudaMemcpy(nullptr, nullptr, 0, in),
               r.cudaMemcpyAsync(memory, local, 0, no_kind, nullptr),
               r.cudaMemcpy2D(memory, 10, local, 10, 10, 0, in),
               r.cudaMemcpy2D(memory, 1, local, 1, 10, 0, in),
               r.cudaMemcpy2D(memory, 1, local, 1, 0, 10, no_kind),
               r.cudaMemcpy2DAsync(memory, 1, local, 1, 10, 0, no_kind, nullptr),
               r.cudaMemcpy3D(&copy), r.cudaMemcpy3DAsync(&copy, nullptr), r.cudaMemcpy3D(&flat)});
}

TEST_CASE("an empty copy succeeds with an invalid array or symbol") {
    char local[4] = {};
    check_all(cudaSuccess,
              {r.cudaMemcpy2DToArray(nullptr, 0, 0, local, 1, 4, 0, no_kind),
               r.cudaMemcpy2DFromArrayAsync(local, 1, nullptr, 0, 0, 0, 4, no_kind, nullptr),
               r.cudaMemcpy2DArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 4, 0, in),
               r.cudaMemcpyToArray(nullptr, 0, 0, local, 0, no_kind),
               r.cudaMemcpyFromArrayAsync(local, nullptr, 0, 0, 0, no_kind, nullptr),
               r.cudaMemcpyArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 0, in),
               r.cudaMemcpyToSymbol(local, local, 0, 0, no_kind),
               r.cudaMemcpyFromSymbolAsync(local, nullptr, 0, 0, no_kind, nullptr)});
    check_all(no_array,
              {r.cudaMemcpy2DToArray(nullptr, 0, 0, local, 4, 4, 1, in),
               r.cudaMemcpy2DFromArrayAsync(local, 4, nullptr, 0, 0, 4, 1, out_of, nullptr),
               r.cudaMemcpy2DArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 4, 1, cudaMemcpyDefault),
               r.cudaMemcpyToArray(nullptr, 0, 0, local, 1, in)});
    check_all(cudaErrorInvalidSymbol,
              {r.cudaMemcpyToSymbol(local, local, 1, 0, no_kind),
               r.cudaMemcpyFromSymbolAsync(local, nullptr, 1, 0, no_kind, nullptr)});
}

TEST_CASE("copies of bytes of an array continue in the next row") {
    const Array array(two_shorts, {8, 4, 0}), other(two_shorts, {4, 8, 0});
    const Bytes source = counting(128);
    CHECK(r.cudaMemcpyToArray(array, 8, 0, source.data(), 100, in) == cudaSuccess);
    Bytes back(100);
    CHECK(r.cudaMemcpyFromArray(back.data(), array, 8, 0, 100, out_of) == cudaSuccess);
    CHECK(back == Bytes(source.begin(), source.begin() + 100));
    CHECK(r.cudaMemcpyFromArray(back.data(), array, 0, 1, 10, out_of) == cudaSuccess);
    CHECK(back[0] == 24); // the first byte of the second row
    CHECK(r.cudaMemcpyArrayToArray(other, 0, 0, array, 8, 0, 50, within) == cudaSuccess);
    CHECK(r.cudaMemcpyFromArray(back.data(), other, 0, 0, 50, out_of) == cudaSuccess);
    CHECK(Bytes(back.begin(), back.begin() + 50) == Bytes(source.begin(), source.begin() + 50));
    CHECK(r.cudaMemcpyToArray(array, 0, 3, source.data(), 33, in) == invalid_value);
    // The byte after the end of a row is the first of the next row.
    CHECK(r.cudaMemcpyToArray(array, 32, 1, source.data() + 7, 1, in) == cudaSuccess);
    CHECK(r.cudaMemcpyFromArray(back.data(), array, 70, 0, 1, out_of) == cudaSuccess);
    CHECK(r.cudaMemcpyFromArray(back.data(), array, 0, 2, 1, out_of) == cudaSuccess);
    CHECK(back[0] == source[7]);
    for (const std::size_t offset : {std::size_t(128), ~std::size_t(0)}) {
        CHECK(r.cudaMemcpyToArray(array, offset, 0, source.data(), 1, in) == invalid_value);
    }
    CHECK(r.cudaMemcpyToArray(array, 32, ~std::size_t(0), source.data(), 1, in) == invalid_value);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("runtime copies between devices give the same bytes") {
    start("devices=2");
    const Bytes source = counting(64);
    const Memory here(64);
    REQUIRE(r.cudaMemcpy(here, source.data(), 64, in) == cudaSuccess);
    REQUIRE(r.cudaSetDevice(1) == cudaSuccess);
    {
        const Memory there(64);
        CHECK(r.cudaMemcpyPeer(there, 1, here, 0, 64) == cudaSuccess);
        CHECK(there.bytes() == source);
        CHECK(r.cudaMemcpyPeer(there, 2, here, 0, 64) == cudaErrorInvalidDevice);
        CHECK(r.cudaMemset(there, 0, 64) == cudaSuccess);
        CHECK(r.cudaMemcpyPeerAsync(there, 1, here, 0, 64, nullptr) == cudaSuccess);
        CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
        CHECK(there.bytes() == source);
        cudaMemcpy3DPeerParms copy{.srcPtr = {here, 16, 16, 4},
                                   .dstPtr = {there, 8, 8, 4},
                                   .dstDevice = 1,
                                   .extent = {8, 4, 1}};
        CHECK(r.cudaMemcpy3DPeer(&copy) == cudaSuccess);
        CHECK(there.bytes()[31] == 3 * 16 + 7);
        copy.dstDevice = -1;
        CHECK(r.cudaMemcpy3DPeer(&copy) == cudaErrorInvalidDevice);
    }
    REQUIRE(r.cudaSetDevice(0) == cudaSuccess);
}

#if CUDART_VERSION >= 13000
TEST_CASE("one call of the runtime runs a batch of copies") {
    const Bytes source = counting(64);
    const Memory a(64), b(64);
    void *to[] = {a, b};
    const void *from[] = {source.data(), source.data() + 32};
    const std::size_t sizes[] = {64, 32};
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    std::size_t first = 0;
    const RuntimeStream stream;
    CHECK(r.cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream) ==
          cudaSuccess);
    CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(a.bytes() == source);
    CHECK(b.bytes()[0] == 32);
    CHECK(b.bytes()[32] == 0xee);
    CHECK(r.cudaMemcpyBatchAsync(to, from, sizes, 0, &attributes, &first, 1, stream) ==
          invalid_value);
}

#endif
