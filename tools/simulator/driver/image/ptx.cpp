// Takes a module's contents from PTX: entries with their parameters, variables, texture references.
#include "call/settings.hpp"
#include "image/image.hpp"
#include "image/ptx_version.hpp"
#include "ptx/reader.hpp"

#include <algorithm>

namespace sim {
namespace {

CUresult status_of(ptx::Problem::Kind kind) {
    return kind == ptx::Problem::Kind::unsupported_version ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                                                           : CUDA_ERROR_INVALID_PTX;
}

Linkage linkage_of(ptx::Linkage linkage) {
    switch (linkage) {
    case ptx::Linkage::weak:
        return Linkage::weak;
    case ptx::Linkage::visible:
        return Linkage::visible;
    default:
        return Linkage::local;
    }
}

// The bytes that the variables of a space take in a function.
int bytes_of(const ptx::Function &function, ptx::Space space) {
    std::size_t bytes = 0;
    for (const ptx::Variable &variable : function.variables) {
        if (variable.space == space) {
            const std::size_t alignment =
                std::max<std::size_t>({variable.alignment, ptx::size_of(variable.type), 1});
            bytes = (bytes + alignment - 1) / alignment * alignment + variable.size();
        }
    }
    if (bytes > (std::size_t(1) << 30)) {
        throw ImageProblem{CUDA_ERROR_INVALID_PTX, "ptxas error   : Entry function '" +
                                                       function.name + "' uses too much data"};
    }
    return static_cast<int>(bytes);
}

ImageKernel kernel_of(const ptx::Function &function, int target) {
    ImageKernel kernel;
    kernel.name = function.name;
    kernel.linkage = linkage_of(function.linkage);
    kernel.ptx_version = target;
    for (std::size_t i = 0; i < function.parameters; ++i) {
        const ptx::Variable &parameter = function.variables[i];
        kernel.add_parameter(parameter.size(), parameter.alignment);
    }
    kernel.max_threads = static_cast<int>(function.max_threads);
    kernel.registers = std::min(kernel.registers, static_cast<int>(function.max_registers));
    kernel.shared = bytes_of(function, ptx::Space::shared);
    kernel.local = bytes_of(function, ptx::Space::local);
    std::copy(function.cluster.begin(), function.cluster.end(), kernel.cluster);
    kernel.cluster_must_be_set = function.explicit_cluster;
    kernel.most_cluster = function.max_cluster_rank;
    return kernel;
}

// The bytes of an initializer; addresses of other variables are 0.
std::vector<std::byte> initial_of(const ptx::Variable &variable) {
    const std::size_t element = std::min<std::size_t>(ptx::size_of(variable.type), 8);
    std::vector<std::byte> bytes;
    for (const ptx::Initial &initial : variable.initial) {
        const std::uint64_t value = initial.symbol.empty() ? initial.value : 0;
        for (std::size_t i = 0; i < element; ++i) {
            bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
        }
    }
    bytes.resize(std::min(bytes.size(), variable.size()));
    return bytes;
}

void add_variable(Image &image, const ptx::Variable &variable) {
    if (variable.type == ptx::Type::texref) {
        image.textures.push_back(variable.name);
    } else if (variable.type == ptx::Type::surfref) {
        image.surfaces.push_back(variable.name);
    } else if (variable.type != ptx::Type::samplerref &&
               (variable.space == ptx::Space::global || variable.space == ptx::Space::constant)) {
        image.variables.push_back(
            {variable.managed                         ? ImageVariable::Kind::managed
             : variable.space == ptx::Space::constant ? ImageVariable::Kind::constant
                                                      : ImageVariable::Kind::global,
             variable.name, linkage_of(variable.linkage), variable.size(), initial_of(variable)});
    }
}

} // namespace

Image read_ptx(std::string_view text) try {
    const ptx::Module module = ptx::read(text, newest_ptx(driver_version()));
    Image image;
    image.minimum_cc = module.target;
    for (const ptx::Function &function : module.functions) {
        if (function.defined && function.kernel) {
            image.kernels.push_back(kernel_of(function, module.target));
        } else if (function.defined && function.linkage == ptx::Linkage::visible) {
            image.functions.push_back(function.name);
        }
    }
    for (const ptx::Variable &variable : module.variables) {
        if (variable.linkage != ptx::Linkage::external) {
            add_variable(image, variable);
        }
    }
    image.unresolved = module.unresolved;
    return image;
} catch (const ptx::Problem &problem) {
    throw ImageProblem{status_of(problem.kind), "ptxas application ptx input, line " +
                                                    std::to_string(problem.line) + "; " +
                                                    problem.text};
}

} // namespace sim
