// How many clusters a device runs at a time, and how large they can be.
#include "../parameters.hpp"
#include "row.hpp"

namespace record::QUESTIONS {

#if CUDA_VERSION >= 11080

namespace {

constexpr char clusters_ptx[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry empty() { ret; }
.visible .entry tiles(.param .u64 out)
{
    .reg .b64 %a; .reg .b32 %i;
    .shared .align 16 .b8 tile[20000];
    ld.param.u64 %a, [out]; mov.u32 %i, tile; st.global.u32 [%a], %i;
    ret;
}
.visible .entry small() .maxntid 128, 1, 1 { ret; }
.visible .entry at_least_four() .maxntid 128, 1, 1 .minnctapersm 4 { ret; }
.visible .entry pairs() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
.visible .entry fours() .explicitcluster .reqnctapercluster 2, 2, 1 { ret; }
.visible .entry any_cluster() .explicitcluster { ret; }
.visible .entry up_to_four() .explicitcluster .maxclusterrank 4 { ret; }
)";

constexpr int most_dynamic = 227 << 10;

struct Size {
    unsigned int x, y, z;
};

class Clusters {
  public:
    Clusters() { d.cuModuleLoadData(&module_, clusters_ptx); }
    ~Clusters() { d.cuModuleUnload(module_); }

    CUfunction operator[](const char *name) const {
        return MAKE(cuModuleGetFunction, module_, name);
    }

  private:
    CUmodule module_ = nullptr;
};

// A launch that is asked about: 128 blocks, unless it says otherwise.
struct Query {
    explicit Query(CUfunction of, unsigned int threads, std::size_t shared = 0) : function(of) {
        config.gridDimX = 128;
        config.blockDimX = threads;
        config.sharedMemBytes = static_cast<unsigned int>(shared);
    }

    Query &has_clusters_of(Size size) {
        auto &attribute = attributes[config.numAttrs++];
        attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute.value.clusterDim.x = size.x;
        attribute.value.clusterDim.y = size.y;
        attribute.value.clusterDim.z = size.z;
        return *this;
    }

    void add_active(Row &row) {
        int clusters = -1;
        config.attrs = config.numAttrs != 0 ? attributes : nullptr;
        const CUresult status = d.cuOccupancyMaxActiveClusters(&clusters, function, &config);
        row.add(status, clusters);
    }
    void add_size(Row &row) {
        int size = -1;
        config.attrs = config.numAttrs != 0 ? attributes : nullptr;
        const CUresult status = d.cuOccupancyMaxPotentialClusterSize(&size, function, &config);
        row.add(status, size);
    }

    CUfunction function;
    CUlaunchConfig config = launch_of<CUlaunchConfig>(1);
    CUlaunchAttribute attributes[4] = {};
};

std::string number(std::size_t value) {
    return std::to_string(value);
}

void add_active(Row &row, CUfunction function, unsigned int threads, std::size_t shared,
                Size size) {
    Query(function, threads, shared).has_clusters_of(size).add_active(row);
}

// The blocks of a multiprocessor, then the clusters of each size.
void add_all(Row &row, CUfunction function, unsigned int threads, std::size_t shared,
             std::initializer_list<unsigned int> sizes) {
    int blocks = -1;
    const CUresult status = d.cuOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, function, static_cast<int>(threads), shared);
    row.add(status, blocks);
    for (const unsigned int size : sizes) {
        add_active(row, function, threads, shared, {size, 1, 1});
    }
}

void allow_everything(CUfunction function) {
    d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most_dynamic);
    d.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
}

constexpr std::size_t shared_sizes[] = {
    0,     1,     1000,  1024,  2048,  4096,  7168,  8192,   12288,  15360,  16384,  24576,
    31744, 32768, 40000, 49152, 65536, 80000, 98304, 116736, 131072, 163840, 200000, most_dynamic};

} // namespace

SECTION("active_clusters_by_threads", start) {
    const Clusters kernels;
    CUfunction empty = kernels["empty"];
    allow_everything(empty);
    for (const unsigned int threads : {1u, 32u, 33u, 64u, 96u, 128u, 192u, 256u, 257u, 288u, 384u,
                                       512u, 513u, 672u, 768u, 1024u, 1025u}) {
        Row row;
        add_all(row, empty, threads, 0, {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 32});
        row.print(number(threads) + " threads");
    }
}

SECTION("active_clusters_by_shared_memory", start) {
    const Clusters kernels;
    CUfunction empty = kernels["empty"];
    allow_everything(empty);
    for (const unsigned int threads : {32u, 128u, 1024u}) {
        for (const std::size_t shared : shared_sizes) {
            Row row;
            add_all(row, empty, threads, shared, {1, 2, 3, 4, 6, 8, 16});
            row.print(number(threads) + " threads, " + number(shared) + " bytes");
        }
    }
    CUfunction tiles = kernels["tiles"];
    for (const std::size_t shared : {std::size_t(0), std::size_t(20000), std::size_t(60000)}) {
        Row row;
        add_all(row, tiles, 64, shared, {1, 2, 4, 8});
        row.print("with 20000 bytes of its own, " + number(shared) + " bytes");
    }
    d.cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152);
    Row row;
    add_active(row, empty, 64, 49153, {2, 1, 1});
    add_active(row, empty, 64, std::size_t(1) << 20, {2, 1, 1});
    row.print("more than allowed, and than there is");
}

// The part of the memory that is shared memory rather than cache.
SECTION("active_clusters_by_carveout", start) {
    const Clusters kernels;
    CUfunction empty = kernels["empty"];
    allow_everything(empty);
    const auto carveout = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    for (const int percent :
         {-1, 0, 1, 3, 4, 5, 7, 8, 10, 14, 15, 25, 28, 29, 44, 50, 58, 75, 100}) {
        Row row;
        row.add(d.cuFuncSetAttribute(empty, carveout, percent));
        for (const std::size_t shared : {std::size_t(0), std::size_t(1024), std::size_t(10000)}) {
            add_all(row, empty, 64, shared, {1, 2, 8});
        }
        row.print("carveout " + std::to_string(percent));
    }
    d.cuFuncSetAttribute(empty, carveout, -1);
    const auto add_both = [&](Row &row, const std::string &name) {
        add_active(row, empty, 64, 0, {1, 1, 1});
        add_active(row, empty, 64, 1024, {2, 1, 1});
        row.print(name);
    };
    for (const CUfunc_cache cache : {CU_FUNC_CACHE_PREFER_SHARED, CU_FUNC_CACHE_PREFER_L1,
                                     CU_FUNC_CACHE_PREFER_EQUAL, CU_FUNC_CACHE_PREFER_NONE}) {
        Row row;
        row.add(d.cuFuncSetCacheConfig(empty, cache));
        add_both(row, "cache " + std::to_string(cache));
    }
    for (const CUfunc_cache cache : {CU_FUNC_CACHE_PREFER_SHARED, CU_FUNC_CACHE_PREFER_L1}) {
        Row row;
        row.add(d.cuCtxSetCacheConfig(cache));
        add_both(row, "cache of the context " + std::to_string(cache));
    }
}

SECTION("active_clusters_by_shape", start) {
    const Clusters kernels;
    CUfunction empty = kernels["empty"];
    const auto add_shapes = [&](const std::string &name, std::initializer_list<Size> sizes) {
        for (const Size &size : sizes) {
            Row row;
            add_active(row, empty, 64, 0, size);
            row.print(name + number(size.x) + "x" + number(size.y) + "x" + number(size.z));
        }
    };
    add_shapes("", {{1, 1, 1},
                    {2, 1, 1},
                    {1, 2, 1},
                    {1, 1, 2},
                    {2, 2, 1},
                    {2, 2, 2},
                    {4, 2, 1},
                    {8, 1, 1},
                    {1, 8, 1},
                    {3, 2, 1},
                    {9, 1, 1},
                    {3, 3, 1},
                    {16, 1, 1},
                    {0, 1, 1},
                    {1, 0, 1},
                    {1, 1, 0},
                    {0, 0, 0},
                    {1u << 31, 1, 1},
                    {1u << 16, 1u << 16, 1},
                    {1u << 31, 2, 1}});
    d.cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    add_shapes("not portable ", {{9, 1, 1}, {3, 3, 1}, {16, 1, 1}, {4, 4, 1}, {17, 1, 1}});
    d.cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0);
    Row grids, blocks;
    for (const unsigned int grid : {0u, 1u, 2u, 3u, 4u, 127u, 132u, 1000u, 1u << 30}) {
        Query query(empty, 64);
        query.config.gridDimX = grid;
        query.has_clusters_of({2, 1, 1}).add_active(grids);
    }
    grids.print("grids of 0, 1, 2, 3, 4, 127, 132, 1000, 2^30");
    Query deep(empty, 64);
    deep.config.blockDimY = deep.config.blockDimZ = 2;
    deep.has_clusters_of({2, 1, 1}).add_active(blocks);
    deep.config.blockDimY = 0;
    deep.add_active(blocks);
    deep.config.blockDimY = 1u << 31;
    deep.add_active(blocks);
    blocks.print("blocks of 64x2x2, 64x0x2, 64x2^31x2");
}

// The active clusters, and the largest size.
SECTION("clusters_without_attribute", start) {
    const Clusters kernels;
    for (const char *name : {"empty", "tiles", "small", "at_least_four", "pairs", "fours",
                             "any_cluster", "up_to_four"}) {
        CUfunction function = kernels[name];
        Row there, without, with, attributes;
        there.add(0, function != nullptr);
        there.print(name);
        for (const unsigned int threads : {64u, 128u, 256u, 1024u}) {
            Query query(function, threads);
            query.add_active(without);
            query.add_size(without);
        }
        without.print(std::string(name) + ", 64, 128, 256, 1024 threads");
        for (const Size size :
             {Size{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {4, 1, 1}, {8, 1, 1}}) {
            Query query(function, 64);
            query.has_clusters_of(size).add_active(with);
            query.add_size(with);
        }
        with.print(std::string(name) + ", clusters of 1, 2, 1x2, 2x2, 4, 8");
        for (const CUfunction_attribute attribute :
             {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
              CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
              CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED}) {
            int value = -1;
            const CUresult status = d.cuFuncGetAttribute(&value, attribute, function);
            attributes.add(status, value);
        }
        attributes.print(std::string(name) + ", must be set, width, height, depth, not portable");
    }
    CUmodule module = MAKE(cuModuleLoadData, ptx);
    CUfunction older = MAKE(cuModuleGetFunction, module, "empty");
    Row row;
    Query query(older, 64);
    query.add_active(row);
    query.add_size(row);
    add_active(row, older, 64, 0, {2, 1, 1});
    row.print("kernel for sm_70, without and with clusters of 2");
    d.cuModuleUnload(module);
}

SECTION("clusters_with_other_attributes", start) {
    const Clusters kernels;
    CUfunction empty = kernels["empty"];
    const auto other = [&](const std::string &what, CUlaunchAttributeID id, int value) {
        Row row;
        for (const unsigned int size : {0u, 1u, 2u, 8u}) {
            Query query(empty, 64);
            auto &attribute = query.attributes[query.config.numAttrs++];
            attribute.id = id;
            attribute.value.cooperative = value; // the first member of the others, too
            if (size != 0) {
                query.has_clusters_of({size, 1, 1});
            }
            query.add_active(row);
            query.add_size(row);
        }
        row.print(what + ", no clusters, clusters of 1, 2, 8");
    };
    for (const int policy : {0, 1, 2, 3}) {
        other("policy " + std::to_string(policy),
              CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, policy);
    }
    other("cooperative", CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1);
    other("priority", CU_LAUNCH_ATTRIBUTE_PRIORITY, 0);
    other("ignored", CU_LAUNCH_ATTRIBUTE_IGNORE, 0);
    other("unknown", static_cast<CUlaunchAttributeID>(77), 0);
    Row row;
    Query(empty, 64).has_clusters_of({2, 1, 1}).has_clusters_of({4, 1, 1}).add_active(row);
    CUstream stream = MAKE(cuStreamCreate, CU_STREAM_NON_BLOCKING);
    Query streamed(empty, 64);
    streamed.config.hStream = stream;
    streamed.has_clusters_of({2, 1, 1}).add_active(row);
    streamed.config.hStream = CU_STREAM_PER_THREAD;
    streamed.add_active(row);
    row.print("clusters of 2, then of 4; in a stream; in that of the thread");
    d.cuStreamDestroy(stream);
}

// Each may crash the process.
SECTION("clusters_of_nulls") {
    const auto asked = [](const char *what, bool output, bool function, bool configuration,
                          unsigned int attributes) {
        row_apart(what, [&](Row &row) {
            start();
            const Clusters kernels;
            Query query(function ? kernels["empty"] : nullptr, 64);
            query.config.numAttrs = attributes;
            int value = -1;
            const CUlaunchConfig *config = configuration ? &query.config : nullptr;
            row.add(d.cuOccupancyMaxPotentialClusterSize(output ? &value : nullptr, query.function,
                                                         config));
            row.add(
                d.cuOccupancyMaxActiveClusters(output ? &value : nullptr, query.function, config));
        });
    };
    asked("no output", false, true, true, 0);
    asked("no function", true, false, true, 0);
    asked("no configuration", true, true, false, 0);
    asked("attributes that are null", true, true, true, 1);
}

SECTION("potential_cluster_sizes", start) {
    const Clusters kernels;
    CUfunction empty = kernels["empty"];
    d.cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most_dynamic);
    for (const int portable : {1, 0}) {
        d.cuFuncSetAttribute(empty, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                             1 - portable);
        const std::string name = portable == 1 ? "portable" : "not portable";
        Row by_threads, by_shared, by_grid;
        for (const unsigned int threads : {32u, 64u, 128u, 512u, 1024u, 1025u}) {
            Query(empty, threads).add_size(by_threads);
        }
        by_threads.print(name + ", 32, 64, 128, 512, 1024, 1025 threads");
        for (const std::size_t shared : shared_sizes) {
            for (const unsigned int threads : {64u, 1024u}) {
                Query(empty, threads, shared).add_size(by_shared);
            }
        }
        by_shared.print(name + ", 0 to 227 KiB, 64 and 1024 threads");
        for (const unsigned int grid : {0u, 1u, 2u, 3u, 6u, 12u, 1000u}) {
            Query query(empty, 64);
            query.config.gridDimX = grid;
            query.add_size(by_grid);
        }
        by_grid.print(name + ", grids of 0, 1, 2, 3, 6, 12, 1000");
    }
}

#if CUDA_VERSION >= 12040
// In a part of the device: its multiprocessors, a stream, then clusters of 1, 2, 4 and 8.
SECTION("clusters_of_a_green_context", start) {
    const Clusters kernels;
    CUfunction empty = kernels["empty"];
    for (const unsigned int least : {8u, 16u, 32u, 64u, 100u}) {
        CUdevResource all{}, part{}, rest{};
        CUdevResourceDesc description = nullptr;
        CUgreenCtx green = nullptr;
        CUstream stream = nullptr;
        unsigned int groups = 1;
        d.cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);
        d.cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, least);
        d.cuDevResourceGenerateDesc(&description, &part, 1);
        d.cuGreenCtxCreate(&green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
        Row row;
        row.add(0, part.sm.smCount);
        row.add(d.cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
        for (const unsigned int size : {1u, 2u, 4u, 8u}) {
            Query query(empty, 1024);
            query.config.hStream = stream;
            query.has_clusters_of({size, 1, 1}).add_active(row);
        }
        row.print(number(least) + " multiprocessors");
        d.cuStreamDestroy(stream);
        d.cuGreenCtxDestroy(green);
    }
}
#endif

#endif

} // namespace record::QUESTIONS
