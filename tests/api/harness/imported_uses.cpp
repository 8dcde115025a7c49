#include "imported_uses.hpp"

#include <cushim/graph.hpp>
#include <cushim/table.hpp>

#ifndef _WIN32

#include <utility>

namespace api_test {

using namespace cushim;

namespace {

Result<void> signal_in_graph(const Workplace &place, const Stream &stream,
                             const TimelineSemaphore &timeline, unsigned long long value) {
    CUSHIM_TRY(Graph graph, Graph::create(place.context));
    const SemaphoreSignal signals[] = {timeline.signaling(value)};
    const SemaphoreWait waits[] = {timeline.waiting(value)};
    CUSHIM_TRY(const GraphNode signal, graph.add_semaphore_signal_node({}, signals));
    CUSHIM_TRY_VOID(graph.add_semaphore_wait_node(signal, waits));
    CUSHIM_TRY(const GraphExec exec, graph.instantiate());
    CUSHIM_TRY_VOID(exec.launch(stream));
    return stream.synchronize();
}

Result<void> copy_rows(const Workplace &place, CUDA_MEMCPY2D copy, unsigned int width,
                       unsigned int height) {
    copy.WidthInBytes = width * sizeof(int);
    copy.Height = height;
    CUSHIM_TRY(const ContextScope scope, place.context.enter());
    const CUresult status = driver().cuMemcpy2D(&copy);
    return status == CUDA_SUCCESS ? Result<void>()
                                  : Error::status(Api::driver, status, "cuMemcpy2D");
}

Result<void> write_and_read(const Workplace &place, CUarray array, unsigned int width,
                            unsigned int height) {
    const std::vector<int> written(std::size_t{width} * height, 51);
    CUDA_MEMCPY2D there{};
    there.srcMemoryType = CU_MEMORYTYPE_HOST;
    there.srcHost = written.data();
    there.srcPitch = width * sizeof(int);
    there.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    there.dstArray = array;
    CUSHIM_TRY_VOID(copy_rows(place, there, width, height));
    std::vector<int> read(written.size());
    CUDA_MEMCPY2D back{};
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    back.srcArray = array;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = read.data();
    back.dstPitch = width * sizeof(int);
    CUSHIM_TRY_VOID(copy_rows(place, back, width, height));
    return must(read == written, "the image does not hold what was written");
}

} // namespace

Result<void> use_timeline(const Workplace &place, UniqueFd exported, unsigned long long last) {
    CUSHIM_TRY(const auto timeline,
               TimelineSemaphore::import_fd(place.context, std::move(exported)));
    CUSHIM_TRY_VOID(timeline.signal(place.stream, last + 1));
    CUSHIM_TRY_VOID(timeline.wait(place.stream, last + 1));
    CUSHIM_TRY_VOID(place.stream.synchronize());
    return signal_in_graph(place, place.stream, timeline, last + 2);
}

Result<void> use_binary(const Workplace &place, UniqueFd exported) {
    CUSHIM_TRY(const auto binary, BinarySemaphore::import_fd(place.context, std::move(exported)));
    CUSHIM_TRY_VOID(binary.signal(place.stream));
    CUSHIM_TRY_VOID(binary.wait(place.stream));
    return place.stream.synchronize();
}

Result<void> use_image(const Workplace &place, SharedImage &&shared) {
    CUSHIM_TRY(const auto memory, ExternalMemory::import_from(
                                      place.context, std::move(shared.source), shared.memory_size));
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = shared.width;
    description.Height = shared.height;
    description.Format = CU_AD_FORMAT_UNSIGNED_INT32;
    description.NumChannels = 1;
    CUSHIM_TRY(const auto image, memory.map_mipmapped(0, description, shared.levels));
    CUSHIM_TRY_VOID(must(image.levels() == shared.levels, "the image has other levels"));
    CUSHIM_TRY(const CUarray first, image.level(0));
    return write_and_read(place, first, shared.width, shared.height);
}

} // namespace api_test

#endif
