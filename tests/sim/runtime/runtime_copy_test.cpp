// The runtime's copies: kinds, rectangles, boxes, arrays, peers, batches; positions and extents in
// the units that each takes.
#include "handles.hpp"

#include <cstring>
#include <numeric>

using namespace sim_test;

namespace {

using Bytes = std::vector<unsigned char>;

Bytes counting(std::size_t size) {
    Bytes bytes(size);
    std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
    return bytes;
}

class Memory : Unique {
  public:
    explicit Memory(std::size_t size) : size_(size) {
        REQUIRE(r.cudaMalloc(&pointer_, size) == cudaSuccess);
        REQUIRE(r.cudaMemset(pointer_, 0xee, size) == cudaSuccess);
    }
    // A copy from pageable memory, or within the device, may be queued still when its call is back.
    ~Memory() {
        CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
        CHECK(r.cudaFree(pointer_) == cudaSuccess);
    }

    void *get() const { return pointer_; }
    void fill(const Bytes &with) const {
        REQUIRE(r.cudaMemcpy(pointer_, with.data(), with.size(), cudaMemcpyHostToDevice) ==
                cudaSuccess);
    }
    Bytes bytes() const {
        Bytes found(size_);
        REQUIRE(r.cudaMemcpy(found.data(), pointer_, size_, cudaMemcpyDeviceToHost) == cudaSuccess);
        return found;
    }

  private:
    void *pointer_ = nullptr;
    std::size_t size_;
};

class Array : Unique {
  public:
    Array(const cudaChannelFormatDesc &format, cudaExtent extent) {
        REQUIRE(r.cudaMalloc3DArray(&array_, &format, extent, 0) == cudaSuccess);
    }
    ~Array() { CHECK(r.cudaFreeArray(array_) == cudaSuccess); }
    cudaArray_t get() const { return array_; }

  private:
    cudaArray_t array_ = nullptr;
};

constexpr cudaChannelFormatDesc two_shorts{16, 16, 0, 0, cudaChannelFormatKindUnsigned};
constexpr cudaMemcpyKind no_kind = static_cast<cudaMemcpyKind>(99);

} // namespace

TEST_CASE("each kind of a copy") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Bytes source = counting(100);
    Bytes back(100), third(100);
    const Memory a(100), b(100);
    CHECK(r.cudaMemcpy(a.get(), source.data(), 100, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(r.cudaMemcpy(b.get(), a.get(), 100, cudaMemcpyDeviceToDevice) == cudaSuccess);
    CHECK(r.cudaMemcpy(back.data(), b.get(), 100, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(back == source);
    CHECK(r.cudaMemcpy(third.data(), back.data(), 100, cudaMemcpyHostToHost) == cudaSuccess);
    CHECK(third == source);
    std::memset(back.data(), 0, 100);
    CHECK(r.cudaMemcpy(back.data(), b.get(), 100, cudaMemcpyDefault) == cudaSuccess);
    CHECK(back == source);
    CHECK(r.cudaMemcpy(a.get(), source.data(), 50, cudaMemcpyDefault) == cudaSuccess);
}

TEST_CASE("copies that are refused") {
    start();
    Bytes host(100);
    const Memory device(100);
    void *const there = device.get(), *const here = host.data();
    constexpr auto in = cudaMemcpyHostToDevice;
    constexpr auto invalid = cudaErrorInvalidValue;
    CHECK(r.cudaMemcpy(there, here, 100, no_kind) == cudaErrorInvalidMemcpyDirection);
    CHECK(r.cudaMemcpy(there, here, 101, in) == invalid);
    CHECK(r.cudaMemcpy(there, nullptr, 1, in) == invalid);
    CHECK(r.cudaMemcpy(nullptr, here, 1, in) == invalid);
    CHECK(r.cudaMemcpy(there, nullptr, 0, in) == cudaSuccess);
    // A pageable host address is no device memory.
    CHECK(r.cudaMemcpy(here, here, 50, cudaMemcpyDeviceToHost) == invalid);
    CHECK(r.cudaMemcpy(here, there, 50, cudaMemcpyDeviceToDevice) == invalid);
    CHECK(r.cudaMemcpy2D(there, 5, here, 10, 10, 2, in) == cudaErrorInvalidPitchValue);
    CHECK(r.cudaMemcpy2D(there, 10, here, 5, 10, 2, in) == cudaErrorInvalidPitchValue);
    CHECK(r.cudaMemcpy2D(there, 10, here, 10, 10, 2, no_kind) == cudaErrorInvalidMemcpyDirection);
    CHECK(r.cudaMemcpy2D(there, 10, here, 10, 10, 0, in) == cudaSuccess);
    CHECK(r.cudaMemcpy3D(nullptr) == cudaErrorInvalidValue);
    CHECK(r.cudaMemcpyToSymbol(host.data(), host.data(), 1, 0, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidSymbol);
}

TEST_CASE("asynchronous copies keep their order") {
    start(GENERATE_COPY(from_range(all_modes())));
    const RuntimeStream stream;
    void *pinned = nullptr, *result = nullptr;
    REQUIRE(r.cudaMallocHost(&pinned, 64) == cudaSuccess);
    REQUIRE(r.cudaMallocHost(&result, 64) == cudaSuccess);
    std::memset(pinned, 5, 64);
    {
        const Memory a(64), b(64);
        CHECK(r.cudaMemcpyAsync(a.get(), pinned, 64, cudaMemcpyHostToDevice, stream) ==
              cudaSuccess);
        CHECK(r.cudaMemcpyAsync(b.get(), a.get(), 64, cudaMemcpyDeviceToDevice, stream) ==
              cudaSuccess);
        CHECK(r.cudaMemcpyAsync(result, b.get(), 64, cudaMemcpyDefault, stream) == cudaSuccess);
        CHECK(r.cudaMemcpyAsync(result, b.get(), 64, no_kind, stream) ==
              cudaErrorInvalidMemcpyDirection);
        CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(std::memcmp(result, pinned, 64) == 0);
    }
    CHECK(r.cudaFreeHost(pinned) == cudaSuccess);
    CHECK(r.cudaFreeHost(result) == cudaSuccess);
}

TEST_CASE("rectangles") {
    start();
    const Bytes source = counting(4 * 16);
    const Memory device(4 * 32);
    // 10 bytes of each of 4 rows, 16 bytes apart here, 32 there.
    CHECK(r.cudaMemcpy2D(device.get(), 32, source.data(), 16, 10, 4, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    const Bytes found = device.bytes();
    for (std::size_t row = 0; row < 4; ++row) {
        CHECK(found[row * 32] == row * 16);
        CHECK(found[row * 32 + 9] == row * 16 + 9);
        CHECK(found[row * 32 + 10] == 0xee);
    }
    Bytes back(4 * 10);
    CHECK(r.cudaMemcpy2DAsync(back.data(), 10, device.get(), 32, 10, 4, cudaMemcpyDeviceToHost,
                              nullptr) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(back[39] == 3 * 16 + 9);
}

TEST_CASE("boxes of linear memory: positions and widths in bytes") {
    start();
    const Bytes source = counting(8 * 4 * 3); // 8 wide, 4 high, 3 deep
    const Memory device(16 * 5 * 3);          // 16 wide, 5 high
    cudaMemcpy3DParms copy{.srcPos = {1, 1, 1},
                           .srcPtr = {const_cast<unsigned char *>(source.data()), 8, 8, 4},
                           .dstPos = {2, 3, 1},
                           .dstPtr = {device.get(), 16, 16, 5},
                           .extent = {4, 2, 2},
                           .kind = cudaMemcpyHostToDevice};
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
    CHECK(r.cudaMemcpy3D(&copy) == cudaErrorInvalidMemcpyDirection);
    copy.kind = cudaMemcpyHostToDevice;
    copy.srcPtr.pitch = 3;
    CHECK(r.cudaMemcpy3D(&copy) == cudaErrorInvalidPitchValue);
    copy.srcPtr.ptr = nullptr;
    CHECK(r.cudaMemcpy3D(&copy) == cudaErrorInvalidValue);
}

TEST_CASE("boxes with an array: positions and widths in elements") {
    start(GENERATE_COPY(from_range(all_modes())));
    const Array array(two_shorts, {8, 4, 2}); // elements of 4 bytes
    const Bytes source = counting(32 * 4 * 2);
    cudaMemcpy3DParms in{.srcPtr = {const_cast<unsigned char *>(source.data()), 32, 8, 4},
                         .dstArray = array.get(),
                         .extent = {8, 4, 2},
                         .kind = cudaMemcpyHostToDevice};
    CHECK(r.cudaMemcpy3D(&in) == cudaSuccess);
    Bytes back(12);
    cudaMemcpy3DParms out{.srcArray = array.get(),
                          .srcPos = {2, 3, 1},
                          .dstPtr = {back.data(), 12, 12, 1},
                          .extent = {3, 1, 1},
                          .kind = cudaMemcpyDeviceToHost};
    CHECK(r.cudaMemcpy3DAsync(&out, nullptr) == cudaSuccess);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
    CHECK(back == Bytes(source.begin() + (4 + 3) * 32 + 8, source.begin() + (4 + 3) * 32 + 20));
    out.extent = {8, 1, 1}; // past the end of the row
    CHECK(r.cudaMemcpy3D(&out) == cudaErrorInvalidValue);
    out.dstArray = array.get(); // two destinations
    CHECK(r.cudaMemcpy3D(&out) == cudaErrorInvalidValue);
}

TEST_CASE("rectangles of an array: offsets in bytes and rows") {
    start();
    const Array array(two_shorts, {8, 4, 0}), other(two_shorts, {8, 4, 0});
    const Bytes source = counting(32 * 4);
    CHECK(r.cudaMemcpy2DToArray(array.get(), 0, 0, source.data(), 32, 32, 4,
                                cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(r.cudaMemcpy2DArrayToArray(other.get(), 4, 1, array.get(), 8, 2, 16, 2,
                                     cudaMemcpyDeviceToDevice) == cudaSuccess);
    Bytes back(16);
    CHECK(r.cudaMemcpy2DFromArray(back.data(), 16, other.get(), 4, 2, 16, 1,
                                  cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(back == Bytes(source.begin() + 3 * 32 + 8, source.begin() + 3 * 32 + 24));
    CHECK(r.cudaMemcpy2DToArray(nullptr, 0, 0, source.data(), 32, 32, 4, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidResourceHandle);
    CHECK(r.cudaMemcpy2DToArray(array.get(), 0, 0, source.data(), 16, 32, 4,
                                cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
    CHECK(r.cudaMemcpy2DToArray(array.get(), 4, 0, source.data(), 32, 32, 4,
                                cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(r.cudaMemcpy2DArrayToArray(other.get(), 0, 0, array.get(), 0, 0, 4, 1,
                                     cudaMemcpyHostToDevice) == cudaErrorInvalidMemcpyDirection);
}

TEST_CASE("nothing can be copied in any way, also in a wrong one") {
    start();
    const auto no_kind = static_cast<cudaMemcpyKind>(99);
    const Memory memory(64);
    char local[64] = {};
    CHECK(r.cudaMemcpy(memory.get(), local, 64, no_kind) == cudaErrorInvalidMemcpyDirection);
    CHECK(r.cudaMemcpy(memory.get(), local, 0, no_kind) == cudaSuccess);
    CHECK(r.cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(r.cudaMemcpyAsync(memory.get(), local, 64, no_kind, nullptr) ==
          cudaErrorInvalidMemcpyDirection);
    CHECK(r.cudaMemcpyAsync(memory.get(), local, 0, no_kind, nullptr) == cudaSuccess);
    CHECK(r.cudaMemcpy2D(memory.get(), 1, local, 1, 10, 1, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidPitchValue);
    CHECK(r.cudaMemcpy2D(memory.get(), 1, local, 1, 10, 0, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(r.cudaMemcpy2D(memory.get(), 1, local, 1, 0, 10, no_kind) == cudaSuccess);
    CHECK(r.cudaMemcpy2DAsync(memory.get(), 1, local, 1, 10, 0, no_kind, nullptr) == cudaSuccess);
    cudaMemcpy3DParms copy{};
    CHECK(r.cudaMemcpy3D(&copy) == cudaSuccess);
    CHECK(r.cudaMemcpy3DAsync(&copy, nullptr) == cudaSuccess);
    copy.extent = {1, 1, 0};
    copy.kind = no_kind;
    CHECK(r.cudaMemcpy3D(&copy) == cudaSuccess);
    copy.extent.depth = 1;
    CHECK(r.cudaMemcpy3D(&copy) == cudaErrorInvalidMemcpyDirection);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(r.cudaMemcpy3D(&copy) == cudaErrorInvalidValue); // neither end is there
    CHECK(r.cudaMemcpy3D(nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("of nothing neither an array nor a symbol is looked at") {
    start();
    const auto no_kind = static_cast<cudaMemcpyKind>(99);
    const auto in = cudaMemcpyHostToDevice, out = cudaMemcpyDeviceToHost;
    char local[4] = {};
    CHECK(r.cudaMemcpy2DToArray(nullptr, 0, 0, local, 1, 4, 0, no_kind) == cudaSuccess);
    CHECK(r.cudaMemcpy2DToArray(nullptr, 0, 0, local, 4, 4, 1, in) ==
          cudaErrorInvalidResourceHandle);
    CHECK(r.cudaMemcpy2DFromArrayAsync(local, 1, nullptr, 0, 0, 0, 4, no_kind, nullptr) ==
          cudaSuccess);
    CHECK(r.cudaMemcpy2DFromArrayAsync(local, 4, nullptr, 0, 0, 4, 1, out, nullptr) ==
          cudaErrorInvalidResourceHandle);
    CHECK(r.cudaMemcpy2DArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 4, 0, in) == cudaSuccess);
    CHECK(r.cudaMemcpy2DArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 4, 1, cudaMemcpyDefault) ==
          cudaErrorInvalidResourceHandle);
    CHECK(r.cudaMemcpyToArray(nullptr, 0, 0, local, 0, no_kind) == cudaSuccess);
    CHECK(r.cudaMemcpyToArray(nullptr, 0, 0, local, 1, in) == cudaErrorInvalidResourceHandle);
    CHECK(r.cudaMemcpyFromArrayAsync(local, nullptr, 0, 0, 0, no_kind, nullptr) == cudaSuccess);
    CHECK(r.cudaMemcpyArrayToArray(nullptr, 0, 0, nullptr, 0, 0, 0, in) == cudaSuccess);
    CHECK(r.cudaMemcpyToSymbol(local, local, 0, 0, no_kind) == cudaSuccess);
    CHECK(r.cudaMemcpyToSymbol(local, local, 1, 0, no_kind) == cudaErrorInvalidSymbol);
    CHECK(r.cudaMemcpyFromSymbolAsync(local, nullptr, 0, 0, no_kind, nullptr) == cudaSuccess);
    CHECK(r.cudaMemcpyFromSymbolAsync(local, nullptr, 1, 0, no_kind, nullptr) ==
          cudaErrorInvalidSymbol);
}

TEST_CASE("bytes of an array run on over its rows") {
    start();
    const Array array(two_shorts, {8, 4, 0}), other(two_shorts, {4, 8, 0});
    const Bytes source = counting(128);
    CHECK(r.cudaMemcpyToArray(array.get(), 8, 0, source.data(), 100, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    Bytes back(100);
    CHECK(r.cudaMemcpyFromArray(back.data(), array.get(), 8, 0, 100, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    CHECK(back == Bytes(source.begin(), source.begin() + 100));
    CHECK(r.cudaMemcpyFromArray(back.data(), array.get(), 0, 1, 10, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    CHECK(back[0] == 24); // the first byte of the second row
    CHECK(r.cudaMemcpyArrayToArray(other.get(), 0, 0, array.get(), 8, 0, 50,
                                   cudaMemcpyDeviceToDevice) == cudaSuccess);
    CHECK(r.cudaMemcpyFromArray(back.data(), other.get(), 0, 0, 50, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    CHECK(Bytes(back.begin(), back.begin() + 50) == Bytes(source.begin(), source.begin() + 50));
    CHECK(r.cudaMemcpyToArray(array.get(), 0, 3, source.data(), 33, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidValue);
    // Behind the end of a row begins the next.
    CHECK(r.cudaMemcpyToArray(array.get(), 32, 1, source.data() + 7, 1, cudaMemcpyHostToDevice) ==
          cudaSuccess);
    CHECK(r.cudaMemcpyFromArray(back.data(), array.get(), 70, 0, 1, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    CHECK(r.cudaMemcpyFromArray(back.data(), array.get(), 0, 2, 1, cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    CHECK(back[0] == source[7]);
    for (const std::size_t offset : {std::size_t(128), ~std::size_t(0)}) {
        CHECK(r.cudaMemcpyToArray(array.get(), offset, 0, source.data(), 1,
                                  cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    }
    CHECK(r.cudaMemcpyToArray(array.get(), 32, ~std::size_t(0), source.data(), 1,
                              cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("copies between devices") {
    start("devices=2");
    const Bytes source = counting(64);
    const Memory here(64);
    here.fill(source);
    REQUIRE(r.cudaSetDevice(1) == cudaSuccess);
    {
        const Memory there(64);
        CHECK(r.cudaMemcpyPeer(there.get(), 1, here.get(), 0, 64) == cudaSuccess);
        CHECK(there.bytes() == source);
        CHECK(r.cudaMemcpyPeer(there.get(), 2, here.get(), 0, 64) == cudaErrorInvalidDevice);
        CHECK(r.cudaMemset(there.get(), 0, 64) == cudaSuccess);
        CHECK(r.cudaMemcpyPeerAsync(there.get(), 1, here.get(), 0, 64, nullptr) == cudaSuccess);
        CHECK(r.cudaDeviceSynchronize() == cudaSuccess);
        CHECK(there.bytes() == source);
        cudaMemcpy3DPeerParms copy{.srcPtr = {here.get(), 16, 16, 4},
                                   .srcDevice = 0,
                                   .dstPtr = {there.get(), 8, 8, 4},
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
TEST_CASE("many copies in one call") {
    start();
    const RuntimeStream stream;
    const Bytes source = counting(64);
    {
        const Memory a(64), b(64);
        void *to[] = {a.get(), b.get()};
        const void *from[] = {source.data(), source.data() + 32};
        const std::size_t sizes[] = {64, 32};
        cudaMemcpyAttributes attributes{};
        attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        std::size_t first = 0;
        CHECK(r.cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream) ==
              cudaSuccess);
        CHECK(r.cudaStreamSynchronize(stream) == cudaSuccess);
        CHECK(a.bytes() == source);
        CHECK(b.bytes()[0] == 32);
        CHECK(b.bytes()[32] == 0xee);
        CHECK(r.cudaMemcpyBatchAsync(to, from, sizes, 0, &attributes, &first, 1, stream) ==
              cudaErrorInvalidValue);
    }
}
#endif
