// Access of contexts to each other's memory: how it is enabled, and what needs it.
#include "images.hpp"
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

// Memory of device 1, with the context of device 0 current.
class Sides : Unique {
  public:
    Sides() {
        REQUIRE(d.cuCtxGetCurrent(&zero) == good);
        REQUIRE(d.cuDevicePrimaryCtxRetain(&one, 1) == good);
        enter(one);
        there = allocate(64);
        REQUIRE(d.cuMemsetD8(there, 0, 64) == good);
        enter(zero);
    }
    ~Sides() {
        enter(one);
        release(there);
        enter(zero);
        CHECK(d.cuDevicePrimaryCtxRelease(1) == good);
    }

    void enter(CUcontext context) const { CHECK(d.cuCtxSetCurrent(context) == good); }
    void enable() const { REQUIRE(d.cuCtxEnablePeerAccess(one, 0) == good); }

    CUcontext zero = nullptr, one = nullptr;
    CUdeviceptr there = 0;
};

} // namespace

TEST_CASE("contexts are looked at before the flags of peer access") {
    start("devices=2");
    const Sides of;
    CHECK(d.cuCtxEnablePeerAccess(of.one, 1) == invalid);
    CHECK(d.cuCtxEnablePeerAccess(nullptr, 1) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuCtxEnablePeerAccess(nullptr, 0) == CUDA_ERROR_INVALID_CONTEXT);
    const WithoutContext none;
    CHECK(d.cuCtxEnablePeerAccess(of.one, 1) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("what two devices tell of each other") {
    start("devices=2");
    const auto told = [](int attribute) {
        int value = 77;
        CHECK(d.cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(attribute), 0,
                                        1) == good);
        return value;
    };
    CHECK(told(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED) == 1);
    CHECK(told(5) == 0); // only some of the atomic operations
    int value = 77;
    CHECK(d.cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(6), 0, 1) ==
          invalid);
}

TEST_CASE("streams write and wait for values where their device has access") {
    start("devices=2");
    const Sides of;
    CHECK(d.cuStreamWriteValue32_v2(nullptr, of.there, 7, 0) == invalid);
    CHECK(d.cuStreamWaitValue32_v2(nullptr, of.there, 0, CU_STREAM_WAIT_VALUE_GEQ) == invalid);
    CHECK(d.cuCtxSynchronize() == good);
    of.enable();
    CHECK(d.cuStreamWriteValue32_v2(nullptr, of.there, 7, 0) == good);
    CHECK(d.cuStreamWaitValue32_v2(nullptr, of.there, 7, CU_STREAM_WAIT_VALUE_GEQ) == good);
    CHECK(d.cuCtxSynchronize() == good);
    CHECK(view(of.there, 4)[0] == 7);
}

TEST_CASE("an address of another device's memory is one where there is access") {
    start("devices=2");
    const Sides of;
    const auto device_pointer = [&](CUdeviceptr &address) {
        return d.cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, of.there);
    };
    CUdeviceptr address = 77;
    CHECK(device_pointer(address) == invalid);
    CHECK(address == 0);
    std::size_t size = 0;
    CHECK(d.cuMemGetAddressRange(&address, &size, of.there + 8) == CUDA_ERROR_NOT_FOUND);
    of.enable();
    CHECK(device_pointer(address) == good);
    CHECK(address == of.there);
    CHECK(got(d.cuMemGetAddressRange(&address, &size, of.there + 8), size) == 64);
}

TEST_CASE("a texture of another device's array asks for peer access") {
    start("devices=2");
    const Sides of;
    CUDA_ARRAY3D_DESCRIPTOR shape{
        .Width = 16, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    of.enter(of.one);
    REQUIRE(d.cuArray3DCreate(&resource.res.array.hArray, &shape) == good);
    of.enter(of.zero);
    const CUDA_TEXTURE_DESC sampling{};
    CUtexObject texture = 0;
    CHECK(d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr) ==
          CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    of.enter(of.one);
    CHECK(d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr) == good);
    CHECK(d.cuTexObjectDestroy(texture) == good);
    CHECK(d.cuArrayDestroy(resource.res.array.hArray) == good);
    of.enter(of.zero);
}

TEST_CASE("attributes are not copied to a stream of another context") {
    start("devices=2");
    const Sides of;
    of.enter(of.one);
    const CUstream other = make_stream(non_blocking);
    of.enter(of.zero);
    const CUstream stream = make_stream(non_blocking);
    CHECK(d.cuStreamCopyAttributes(other, stream) == invalid);
    CUstreamAttrValue value{};
    CHECK(d.cuStreamGetAttribute(other, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value) ==
          good);
    unsigned int policy = 0;
    std::memcpy(&policy, &value.syncPolicy, sizeof policy);
    CHECK(policy == ~0u); // nobody has set one
    destroy(stream);
    of.enter(of.one);
    destroy(other);
    of.enter(of.zero);
}
