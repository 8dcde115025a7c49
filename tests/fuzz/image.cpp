// The simulator's readers of images: cubins, fatbins and their compressed contents, PTX, the text
// form, libraries of objects.
#include "image/image.hpp"
#include "fuzz.hpp"

#include <algorithm>
#include <memory>

namespace {

// Reads the contents of an image by their sizes.
void check(const sim::Image &image) {
    for (const sim::ImageVariable &variable : image.variables) {
        fuzz::require(variable.size != 0 && variable.initial.size() <= variable.size);
    }
    for (const sim::ImageKernel &kernel : image.kernels) {
        fuzz::require(kernel.max_threads > 0 && kernel.registers >= 0);
        fuzz::require(kernel.shared >= 0 && kernel.local >= 0 && kernel.constant >= 0);
        std::size_t end = 0;
        for (const sim::KernelParameter &parameter : kernel.parameters) {
            fuzz::require(parameter.offset >= end);
            end = parameter.offset + parameter.size;
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    // A copy of exactly this size, so that AddressSanitizer notices reads beyond the end.
    const auto bytes = std::make_unique<char[]>(size);
    std::copy_n(data, size, bytes.get());
    const std::string_view text(bytes.get(), size);
    try {
        if (sim::is_archive(text)) {
            sim::check_archive(text);
        } else {
            const sim::Image image = sim::read_image(bytes.get(), size, 90);
            check(image);
            (void)sim::read_text(sim::write_image(image)); // as the linker does
        }
    } catch (const sim::ImageProblem &problem) {
        fuzz::require(problem.status != CUDA_SUCCESS && !problem.text.empty());
    }
    return 0;
}
