#include "ptx/run/block.hpp"
#include "ptx/steps/decoder.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

// Local memory of functions that the kernel calls, bytes of a thread.
constexpr std::uint32_t call_stack = 1 << 16;
// What a call takes of it at least, which limits the depth of recursions.
constexpr std::size_t least_of_call = 64;
// As CUDA limits it.
constexpr std::size_t most_local_bytes = 512 << 10;
// Blocks that have begun and wait for each other.
constexpr std::size_t most_open_blocks = 1024;
// Slices of a block before others run.
constexpr int slices_of_block = 8;

std::size_t aligned(std::size_t offset, const Variable &variable) {
    const std::size_t alignment =
        std::max<std::size_t>({variable.alignment, size_of(variable.type) * variable.vector, 1});
    return (offset + alignment - 1) / alignment * alignment;
}

template <class Function>
void for_each_operand(const std::vector<Operand> &operands, const Function &function) {
    for (const Operand &operand : operands) {
        function(operand);
        for_each_operand(operand.parts, function);
    }
}

// The functions that a kernel can reach, itself first. Those in initializers of variables are among
// them, since an address may be loaded.
std::vector<std::uint32_t> reachable(const Module &module, std::uint32_t kernel) {
    std::vector<std::uint32_t> all;
    std::set<std::uint32_t> known;
    const auto add = [&](std::uint32_t function) {
        if (known.insert(function).second) {
            all.push_back(function);
        }
    };
    add(kernel);
    std::map<std::string_view, std::uint32_t> by_name;
    for (std::uint32_t i = 0; i < module.functions.size(); ++i) {
        by_name[module.functions[i].name] = i;
    }
    for (const Variable &variable : module.variables) {
        for (const Initial &initial : variable.initial) {
            if (const auto named = by_name.find(initial.symbol); named != by_name.end()) {
                add(named->second);
            }
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Function &function = module.functions[all[i]];
        const auto add_named = [&](const Operand &operand) {
            if (operand.kind == Operand::Kind::function) {
                add(operand.index);
            }
        };
        for (const Instruction &instruction : function.instructions) {
            for_each_operand(instruction.operands, add_named);
        }
        for (const List &list : function.lists) {
            for_each_operand(list.targets, add_named);
        }
    }
    return all;
}

class DecodedKernel final : public Kernel, private Layout {
  public:
    DecodedKernel(const Module &module, std::uint32_t kernel, const AddressOf &address_of)
        : module_(module), address_of_(address_of) {
        const std::vector<std::uint32_t> functions = reachable(module, kernel);
        for (const std::uint32_t function : functions) {
            place_variables(module.functions[function]);
        }
        place_dynamic();
        for (const std::uint32_t index : functions) {
            const Function &function = module.functions[index];
            if (function.defined) {
                programs_[index].name = function.name;
            }
        }
        kernel_ = &programs_[kernel];
        for (auto &[index, program] : programs_) {
            Decoder(*this, module.functions[index], program).decode();
            program.local_size = local_sizes_[&module.functions[index]];
        }
        local_bytes_ = kernel_->local_size + (programs_.size() > 1 ? call_stack : 0);
    }

    std::size_t shared() const noexcept override { return static_shared_; }

    void run(const Launch &launch, Memory &memory) const override {
        Grid grid{
            launch, memory, *kernel_, static_shared_, local_bytes_, sites_, launch.most_branches};
        const std::uint64_t blocks =
            std::uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
        std::deque<std::unique_ptr<Block>> open;
        std::unique_ptr<Block> unused;
        for (std::uint64_t next = 0; next < blocks || !open.empty();) {
            if (next < blocks && open.size() < most_open_blocks) {
                open.push_front(unused ? std::move(unused) : std::make_unique<Block>(grid));
                open.front()->start(
                    {static_cast<unsigned int>(next % launch.grid[0]),
                     static_cast<unsigned int>(next / launch.grid[0] % launch.grid[1]),
                     static_cast<unsigned int>(next / launch.grid[0] / launch.grid[1])});
                ++next;
            }
            std::unique_ptr<Block> block = std::move(open.front());
            open.pop_front();
            if (run_some(*block)) {
                unused = std::move(block);
            } else {
                open.push_back(std::move(block));
            }
        }
    }

  private:
    static bool run_some(Block &block) {
        for (int i = 0; i < slices_of_block; ++i) {
            if (block.run()) {
                return true;
            }
        }
        return false;
    }

    void place_variables(const Function &function) {
        std::size_t local = 0, parameters = 0;
        for (std::uint32_t i = 0; i < function.variables.size(); ++i) {
            const Variable &variable = function.variables[i];
            std::size_t *end = variable.space == Space::shared ? &static_shared_ : &local;
            if (function.kernel && i < function.parameters) {
                end = &parameters;
            } else if (variable.space == Space::reg) {
                continue;
            }
            *end = aligned(*end, variable);
            addresses_[&variable] = *end;
            *end += variable.size();
        }
        const std::size_t least = function.kernel ? 0 : least_of_call;
        if (local > most_local_bytes) {
            throw NotExecuted{function.line, "a function with too much local memory"};
        }
        local_sizes_[&function] =
            static_cast<std::uint32_t>(std::max((local + 15) / 16 * 16, least));
        for (const Instruction &instruction : function.instructions) {
            for_each_operand(instruction.operands, [&](const Operand &operand) {
                if (operand.kind == Operand::Kind::module_variable) {
                    place_shared(module_.variables[operand.index]);
                }
            });
        }
    }

    void place_shared(const Variable &variable) {
        if (variable.space != Space::shared || addresses_.contains(&variable)) {
            return;
        }
        if (variable.size() == 0 || variable.linkage == ptx::Linkage::external) {
            dynamic_.insert(&variable);
            return;
        }
        static_shared_ = aligned(static_shared_, variable);
        addresses_[&variable] = static_shared_;
        static_shared_ += variable.size();
    }

    // Dynamic shared memory is behind the static one.
    void place_dynamic() {
        for (const Variable *variable : dynamic_) {
            static_shared_ = aligned(static_shared_, *variable);
        }
        for (const Variable *variable : dynamic_) {
            addresses_[variable] = static_shared_;
        }
    }

    std::uint64_t address_of(std::uint32_t module_variable) override {
        const Variable &variable = module_.variables[module_variable];
        return variable.space == Space::shared ? addresses_.at(&variable) : address_of_(variable);
    }
    std::uint64_t address_of(const Function &function, std::uint32_t variable) override {
        return addresses_.at(&function.variables[variable]);
    }
    const Program &program_of(std::uint32_t function) override { return programs_.at(function); }
    const std::map<std::uint64_t, const Program *> &functions_by_address() override {
        if (by_address_.empty()) {
            for (const auto &[index, program] : programs_) {
                if (!module_.functions[index].kernel) {
                    by_address_[code_address(index)] = &program;
                }
            }
        }
        return by_address_;
    }
    std::uint16_t new_site() override { return static_cast<std::uint16_t>(sites_++); }
    const Module &module() const override { return module_; }

    const Module &module_;
    const AddressOf &address_of_;
    std::map<std::uint32_t, Program> programs_; // by the functions' places in the module
    const Program *kernel_ = nullptr;
    std::map<std::uint64_t, const Program *> by_address_;
    std::map<const Variable *, std::uint64_t> addresses_; // in their spaces
    std::set<const Variable *> dynamic_;
    std::map<const Function *, std::uint32_t> local_sizes_;
    std::size_t static_shared_ = 0, sites_ = 0;
    std::uint32_t local_bytes_ = 0;
};

} // namespace

std::unique_ptr<Kernel> decode_kernel(const Module &module, std::uint32_t kernel,
                                      const AddressOf &address_of) {
    return std::make_unique<DecodedKernel>(module, kernel, address_of);
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES

namespace sim::ptx {

std::unique_ptr<Kernel> make_kernel(const Module &module, std::uint32_t kernel,
                                    const AddressOf &address_of) {
    return baseline::decode_kernel(module, kernel, address_of);
}

} // namespace sim::ptx
