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
        require_ok(runtime().cudaMemset(get(), 0xee, size));
    }
    // Copies from pageable memory or within the device may be pending after their call.
    ~Memory() { ok(runtime().cudaDeviceSynchronize()); }

    Bytes bytes() const {
        Bytes found(size_);
        require_ok(runtime().cudaMemcpy(found.data(), *this, size_, cudaMemcpyDeviceToHost));
        return found;
    }

  private:
    std::size_t size_;
};

constexpr cudaChannelFormatDesc two_shorts{16, 16, 0, 0, cudaChannelFormatKindUnsigned};
constexpr auto in = cudaMemcpyHostToDevice, out_of = cudaMemcpyDeviceToHost,
               within = cudaMemcpyDeviceToDevice, no_kind = static_cast<cudaMemcpyKind>(99);

} // namespace

TEST_CASE("cudaMemcpy copies in all directions") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Bytes source = counting(100);
    Bytes back(100), third(100);
    const Memory a(100), b(100);
    ok(runtime().cudaMemcpy(a, source.data(), 100, in));
    ok(runtime().cudaMemcpy(b, a, 100, within));
    ok(runtime().cudaMemcpy(back.data(), b, 100, out_of));
    CHECK(back == source);
    ok(runtime().cudaMemcpy(third.data(), back.data(), 100, cudaMemcpyHostToHost));
    CHECK(third == source);
    std::memset(back.data(), 0, 100);
    ok(runtime().cudaMemcpy(back.data(), b, 100, cudaMemcpyDefault));
    CHECK(back == source);
    ok(runtime().cudaMemcpy(a, source.data(), 50, cudaMemcpyDefault));
}

TEST_CASE("cudaMemcpy2D copies rectangles with both pitches") {
    const Bytes source = counting(4 * 16);
    const Memory device(4 * 32);
    // 4 rows of 10 bytes; the pitch is 16 on the host, 32 on the device.
    ok(runtime().cudaMemcpy2D(device, 32, source.data(), 16, 10, 4, in));
    const Bytes found = device.bytes();
    for (std::size_t row = 0; row < 4; ++row) {
        CHECK(found[row * 32] == row * 16);
        CHECK(found[row * 32 + 9] == row * 16 + 9);
        CHECK(found[row * 32 + 10] == 0xee);
    }
    Bytes back(4 * 10);
    ok(runtime().cudaMemcpy2DAsync(back.data(), 10, device, 32, 10, 4, out_of, nullptr));
    ok(runtime().cudaDeviceSynchronize());
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
    ok(runtime().cudaMemcpy3D(&copy));
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
}

TEST_CASE("boxes with an array have positions and widths in elements") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeArray array(two_shorts, {8, 4, 2}); // elements of 4 bytes
    const Bytes source = counting(32 * 4 * 2);
    cudaMemcpy3DParms into{.srcPtr = {const_cast<unsigned char *>(source.data()), 32, 8, 4},
                           .dstArray = array,
                           .extent = {8, 4, 2},
                           .kind = in};
    ok(runtime().cudaMemcpy3D(&into));
    Bytes back(12);
    cudaMemcpy3DParms out{.srcArray = array,
                          .srcPos = {2, 3, 1},
                          .dstPtr = {back.data(), 12, 12, 1},
                          .extent = {3, 1, 1},
                          .kind = out_of};
    ok(runtime().cudaMemcpy3DAsync(&out, nullptr));
    ok(runtime().cudaDeviceSynchronize());
    CHECK(back == Bytes(source.begin() + (4 + 3) * 32 + 8, source.begin() + (4 + 3) * 32 + 20));
}

TEST_CASE("rectangles of an array have offsets in bytes and rows") {
    const RuntimeArray array(two_shorts, {8, 4, 0}), other(two_shorts, {8, 4, 0});
    const Bytes source = counting(32 * 4);
    ok(runtime().cudaMemcpy2DToArray(array, 0, 0, source.data(), 32, 32, 4, in));
    ok(runtime().cudaMemcpy2DArrayToArray(other, 4, 1, array, 8, 2, 16, 2, within));
    Bytes back(16);
    ok(runtime().cudaMemcpy2DFromArray(back.data(), 16, other, 4, 2, 16, 1, out_of));
    CHECK(back == Bytes(source.begin() + 3 * 32 + 8, source.begin() + 3 * 32 + 24));
}

TEST_CASE("an empty copy succeeds with an invalid array or symbol") {
    char local[4] = {};
    check_all(
        cudaSuccess,
        {runtime().cudaMemcpy2DToArray(nullptr, 0, 0, local, 1, 4, 0, no_kind),
         runtime().cudaMemcpy2DFromArrayAsync(local, 1, nullptr, 0, 0, 0, 4, no_kind, nullptr),
         runtime().cudaMemcpy2DArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 4, 0, in),
         runtime().cudaMemcpyToArray(nullptr, 0, 0, local, 0, no_kind),
         runtime().cudaMemcpyFromArrayAsync(local, nullptr, 0, 0, 0, no_kind, nullptr),
         runtime().cudaMemcpyArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 0, in),
         runtime().cudaMemcpyToSymbol(local, local, 0, 0, no_kind),
         runtime().cudaMemcpyFromSymbolAsync(local, nullptr, 0, 0, no_kind, nullptr)});
    CHECK(runtime().cudaMemcpy2DArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 4, 1,
                                             cudaMemcpyDefault) == cudaErrorInvalidValue);
    CHECK(runtime().cudaMemcpyToArray(nullptr, 0, 0, local, 1, in) ==
          cudaErrorInvalidResourceHandle);
    check_all(cudaErrorInvalidSymbol,
              {runtime().cudaMemcpyFromSymbolAsync(local, nullptr, 1, 0, no_kind, nullptr)});
}

TEST_CASE("copies of bytes of an array continue in the next row") {
    const RuntimeArray array(two_shorts, {8, 4, 0}), other(two_shorts, {4, 8, 0});
    const Bytes source = counting(128);
    ok(runtime().cudaMemcpyToArray(array, 8, 0, source.data(), 100, in));
    Bytes back(100);
    ok(runtime().cudaMemcpyFromArray(back.data(), array, 8, 0, 100, out_of));
    CHECK(back == Bytes(source.begin(), source.begin() + 100));
    ok(runtime().cudaMemcpyFromArray(back.data(), array, 0, 1, 10, out_of));
    CHECK(back[0] == 24); // the first byte of the second row
    ok(runtime().cudaMemcpyArrayToArray(other, 0, 0, array, 8, 0, 50, within));
    ok(runtime().cudaMemcpyFromArray(back.data(), other, 0, 0, 50, out_of));
    CHECK(Bytes(back.begin(), back.begin() + 50) == Bytes(source.begin(), source.begin() + 50));
    // The byte after the end of a row is the first of the next row.
    ok(runtime().cudaMemcpyToArray(array, 32, 1, source.data() + 7, 1, in));
    ok(runtime().cudaMemcpyFromArray(back.data(), array, 70, 0, 1, out_of));
    ok(runtime().cudaMemcpyFromArray(back.data(), array, 0, 2, 1, out_of));
    CHECK(back[0] == source[7]);
    ok(runtime().cudaDeviceSynchronize());
}

TEST_CASE("a block copy between devices has a pitch for each side") {
    start("devices=2");
    const Bytes source = counting(64);
    const Memory here(64);
    require_ok(runtime().cudaMemcpy(here, source.data(), 64, in));
    require_ok(runtime().cudaSetDevice(1));
    {
        const Memory there(64);
        const cudaMemcpy3DPeerParms copy{.srcPtr = {here, 16, 16, 4},
                                         .dstPtr = {there, 8, 8, 4},
                                         .dstDevice = 1,
                                         .extent = {8, 4, 1}};
        ok(runtime().cudaMemcpy3DPeer(&copy));
        CHECK(there.bytes()[31] == 3 * 16 + 7);
    }
    require_ok(runtime().cudaSetDevice(0));
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
    ok(runtime().cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream));
    ok(runtime().cudaStreamSynchronize(stream));
    CHECK(a.bytes() == source);
    CHECK(b.bytes()[0] == 32);
    CHECK(b.bytes()[32] == 0xee);
}

#endif
