// Peer access between contexts: enabling it, and the calls that require it.
#include "images.hpp"
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

// Memory of device 1, with the context of device 0 current.
class Sides : Unique {
  public:
    Sides() {
        const OnDevice there_now(1);
        there = allocate(64);
        REQUIRE(d.cuMemsetD8(there, 0, 64) == good);
    }
    ~Sides() {
        const OnDevice there_now(1);
        release(there);
    }
    void enable() const { REQUIRE(d.cuCtxEnablePeerAccess(one, 0) == good); }

    const PrimaryContext one{1};
    CUdeviceptr there = 0;
};

} // namespace

TEST_CASE("invalid contexts are reported before the flags of peer access are checked") {
    start("devices=2");
    const Sides of;
    CHECK(d.cuCtxEnablePeerAccess(of.one, 1) == invalid);
    CHECK(d.cuCtxEnablePeerAccess(nullptr, 1) == CUDA_ERROR_INVALID_CONTEXT);
    CHECK(d.cuCtxEnablePeerAccess(nullptr, 0) == CUDA_ERROR_INVALID_CONTEXT);
    pop_current();
    CHECK(d.cuCtxEnablePeerAccess(of.one, 1) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("devices report peer access, and atomics as not fully supported") {
    start("devices=2");
    int value = 77;
    const auto ask = [&](int attribute) {
        return d.cuDeviceGetP2PAttribute(&value, static_cast<CUdevice_P2PAttribute>(attribute), 0,
                                         1);
    };
    CHECK(got(ask(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED), value) == 1);
    CHECK(got(ask(5), value) == 0); // not all atomic operations
    CHECK(ask(6) == invalid);
}

TEST_CASE("stream memory operations on a peer's memory require peer access") {
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

TEST_CASE("address queries on a peer's memory require peer access") {
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

TEST_CASE("a texture of an array on another device requires peer access") {
    start("devices=2");
    CUDA_ARRAY3D_DESCRIPTOR shape{
        .Width = 16, .Height = 4, .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1};
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    const CUDA_TEXTURE_DESC sampling{};
    CUtexObject texture = 0;
    const CUcontext here = current();
    const OnDevice there(1);
    REQUIRE(d.cuArray3DCreate(&resource.res.array.hArray, &shape) == good);
    REQUIRE(d.cuCtxPushCurrent(here) == good);
    CHECK(d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr) ==
          CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    pop_current();
    CHECK(d.cuTexObjectCreate(&texture, &resource, &sampling, nullptr) == good);
    CHECK(d.cuTexObjectDestroy(texture) == good);
    CHECK(d.cuArrayDestroy(resource.res.array.hArray) == good);
}

TEST_CASE("stream attributes are not copied to a stream of another context") {
    start("devices=2");
    const Stream stream(non_blocking);
    const OnDevice there(1);
    const Stream other(non_blocking);
    CHECK(d.cuStreamCopyAttributes(other, stream) == invalid);
    const auto value = got<CUstreamAttrValue>(&Driver::cuStreamGetAttribute, other,
                                              CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, out);
    unsigned int policy = 0;
    std::memcpy(&policy, &value.syncPolicy, sizeof policy);
    CHECK(policy == ~0u); // still unset
}
