// Compiles a kernel template with NVRTC while the program runs, for the GPU that is there, and
// launches it. Without a GPU or NVRTC, it prints the reason and succeeds.
#include <cushim/device_buffer.hpp>
#include <cushim/module.hpp>
#include <cushim/nvrtc.hpp>

#include <string>

#include "example.hpp"

using namespace cushim;

namespace {

constexpr const char *source = R"(
template <class T>
__global__ void square(T *values, unsigned int count) {
    const unsigned int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count)
        values[index] *= values[index];
}
)";

Result<bool> square_all(const Context &context, const Module &module, const char *name) {
    constexpr unsigned int count = 1000;
    std::vector<int> values(count);
    for (unsigned int index = 0; index != count; ++index) {
        values[index] = static_cast<int>(index);
    }
    CUSHIM_TRY(const Stream stream, Stream::create(context));
    CUSHIM_TRY(const auto square, module.kernel<void(int *, unsigned int)>(name));
    CUSHIM_TRY(auto buffer, DeviceBuffer<int>::allocate(context, count));
    CUSHIM_TRY_VOID(copy(context, buffer.span(), std::span<const int>(values)));
    CUSHIM_TRY_VOID(square.launch(stream, LaunchConfig::covering(count), buffer, count));
    CUSHIM_TRY_VOID(stream.synchronize());
    CUSHIM_TRY_VOID(copy(context, std::span(values), buffer.span()));
    return example::matches(std::span<const int>(values),
                            [](std::size_t index) { return static_cast<int>(index * index); });
}

Result<bool> run(Device device, const example::Options &options) {
    const char *const names[] = {"square<int>"};
    const auto code =
        CompiledCode::compile(device, source, {.name = "square.cu", .name_expressions = names});
    if (!code) {
        // An error in the source would be a bug.
        if (code.error().kind() != ErrorKind::library_not_found) {
            return code.error();
        }
        std::printf("%s\n", code.error().message());
        return true;
    }
    CUSHIM_TRY(const char *const name, code->lowered_name(names[0]));
    std::printf("%s: %zu bytes, kernel %s\n", to_text(code->output()).c_str(), code->size(), name);
    if (!options.with_kernels) {
        return true;
    }
    CUSHIM_TRY(const Context context, Context::primary(device));
    CUSHIM_TRY(const Module module, Module::load(context, *code));
    CUSHIM_TRY(const bool is_right, square_all(context, module, name));
    if (is_right) {
        std::printf("every square is right\n");
    }
    return is_right;
}

} // namespace

int main(int argc, char **argv) {
    return example::on_first_gpu(argc, argv, run);
}
