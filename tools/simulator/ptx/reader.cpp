#include "ptx/reader.hpp"
#include "ptx/body.hpp"
#include "ptx/declarations.hpp"
#include "ptx/lexer.hpp"
#include "ptx/scopes.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace sim::ptx {
namespace {

using Kind = Operand::Kind;

// The largest parameters of a kernel, in bytes.
constexpr std::size_t max_parameters = 32764;

// Functions that the driver defines.
bool is_of_the_driver(std::string_view name) {
    static constexpr std::string_view names[] = {
        "__assertfail",
        "cudaGraphKernelNodeSetEnabled",
        "cudaGraphKernelNodeSetGridDim",
        "cudaGraphKernelNodeSetParam",
        "cudaGraphKernelNodeUpdatesApply",
        "cudaGraphLaunch",
        "cudaGraphSetConditional",
        "free",
        "malloc",
        "vfprintf",
        "vprintf",
    };
    return std::find(std::begin(names), std::end(names), name) != std::end(names) ||
           name.starts_with("__nv_ptx_builtin_");
}

class ModuleReader {
  public:
    ModuleReader(std::string_view text, int newest) : in_(text), newest_(newest) { names_.open(); }

    Module read() {
        read_header();
        while (!in_.at_end()) {
            read_statement();
        }
        check_initializers();
        find_unresolved();
        return std::move(module_);
    }

  private:
    void check_initializers() const {
        for (const Variable &variable : module_.variables) {
            for (const Initial &initial : variable.initial) {
                if (!initial.symbol.empty() && !names_.find(initial.symbol)) {
                    fail_at(variable.line,
                            "fatal   : Invalid initial value symbol '" + initial.symbol + "'");
                }
            }
        }
    }

    void find_unresolved() {
        std::vector<bool> called(module_.functions.size());
        for (const Function &function : module_.functions) {
            for (const Instruction &instruction : function.instructions) {
                for (const Operand &operand : instruction.operands) {
                    if (operand.kind == Kind::function) {
                        called[operand.index] = true;
                    }
                }
            }
        }
        for (std::size_t i = 0; i < called.size(); ++i) {
            const Function &function = module_.functions[i];
            if (called[i] && !function.defined && !is_of_the_driver(function.name)) {
                module_.unresolved.push_back(function.name);
            }
        }
    }

    // No value if it is longer than that of any version.
    static std::optional<int> part_of_version(std::string_view digits) {
        int part = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), part);
        return digits.size() <= 3 ? std::optional(part) : std::nullopt;
    }

    void read_header() {
        in_.expect(".version");
        const Token version = in_.take();
        const auto dot = version.text.find('.');
        if (version.kind != Token::Kind::number || dot == version.text.npos) {
            in_.fail();
        }
        const std::optional<int> major = part_of_version(version.text.substr(0, dot));
        const std::optional<int> minor = part_of_version(version.text.substr(dot + 1));
        module_.version = major.value_or(0) * 10 + minor.value_or(0);
        if (!major || !minor || module_.version > newest_) {
            throw Problem{Problem::Kind::unsupported_version, version.line,
                          "fatal   : Unsupported .version " + std::string(version.text) +
                              "; current version is '" + std::to_string(newest_ / 10) + "." +
                              std::to_string(newest_ % 10) + "'"};
        }
        in_.expect(".target");
        bool architecture = false;
        do {
            const Token target = in_.take();
            if (target.kind != Token::Kind::word) {
                Lexer::fail(target);
            }
            if (target.text.starts_with("sm_")) {
                architecture = true;
                const auto read =
                    std::from_chars(target.text.data() + 3, target.text.data() + target.text.size(),
                                    module_.target);
                if (read.ec == std::errc::result_out_of_range) { // newer than any device
                    module_.target = std::numeric_limits<int>::max();
                }
            }
        } while (in_.accept(","));
        if (!architecture) {
            in_.fail();
        }
        if (in_.accept(".address_size")) {
            in_.number();
        }
    }

    void read_statement() {
        const Linkage linkage = read_linkage();
        const Token first = in_.take();
        if (first.kind != Token::Kind::directive) {
            Lexer::fail(first);
        }
        if (first.is(".entry") || first.is(".func")) {
            read_function(first.is(".entry"), linkage, first.line);
        } else if (const std::optional<Space> space = space_of(first)) {
            read_variables(*space, linkage);
        } else if (first.is(".tex") || first.is(".alias") || first.is(".pragma")) {
            in_.skip_statement();
        } else if (first.is(".section")) {
            in_.take();
            in_.skip_block();
        } else if (first.is(".file")) {
            read_file(first.line);
        } else if (first.is(".loc")) {
            in_.skip_line(first.line);
        } else {
            fail_at(first.line,
                    "error   : Unknown directive '" + std::string(first.text.substr(0, 64)) + "'");
        }
    }

    Linkage read_linkage() {
        Linkage linkage = Linkage::local;
        for (;;) {
            if (in_.accept(".extern")) {
                linkage = Linkage::external;
            } else if (in_.accept(".visible")) {
                linkage = Linkage::visible;
            } else if (in_.accept(".weak") || in_.accept(".common")) {
                linkage = Linkage::weak;
            } else {
                return linkage;
            }
        }
    }

    // .file 1 "kernel.cu" [, time, size]
    void read_file(int line) {
        const std::uint64_t number = in_.number();
        const std::string name = in_.text();
        if (number < 10000) {
            module_.files.resize(std::max<std::size_t>(module_.files.size(), number + 1));
            module_.files[number] = name;
        }
        in_.skip_line(line);
    }

    void read_variables(Space space, Linkage linkage) {
        Variable properties = read_properties(in_, space);
        properties.linkage = linkage;
        do {
            Variable variable = properties;
            read_declarator(in_, variable);
            if (variable.name.empty() || (variable.count == 0 && linkage != Linkage::external)) {
                in_.fail();
            }
            if (const auto known = names_.find(variable.name);
                known && known->kind == Kind::module_variable &&
                (linkage == Linkage::external ||
                 module_.variables[known->index].linkage == Linkage::external)) {
                if (linkage != Linkage::external) { // the definition of what was declared
                    module_.variables[known->index] = std::move(variable);
                }
                continue;
            }
            names_.declare(
                variable.name,
                {Kind::module_variable, static_cast<std::uint32_t>(module_.variables.size())},
                variable.line);
            module_.variables.push_back(std::move(variable));
        } while (in_.accept(","));
        in_.expect(";");
    }

    // Reads `(.param .u64 a, …)` into a function's variables; returns their number.
    std::size_t read_parameters(Function &function) {
        std::size_t bytes = 0, number = 0;
        if (in_.accept("(") && !in_.accept(")")) {
            do {
                const Token token = in_.take();
                const std::optional<Space> space = space_of(token);
                if (!space || (*space != Space::param && *space != Space::reg) ||
                    (function.kernel && *space == Space::reg)) {
                    Lexer::fail(token);
                }
                function.variables.push_back(read_parameter(in_, *space));
                bytes += function.variables.back().size();
                if (function.kernel &&
                    (function.variables.back().size() == 0 || bytes > max_parameters)) {
                    in_.fail();
                }
                ++number;
            } while (in_.accept(","));
            in_.expect(")");
        }
        return number;
    }

    void read_function(bool kernel, Linkage linkage, int line) {
        Function function;
        function.kernel = kernel;
        function.linkage = linkage;
        function.line = line;
        if (!kernel) {
            function.returns = read_parameters(function);
        }
        function.name = in_.name();
        function.parameters = read_parameters(function);
        read_tuning(function);
        const std::uint32_t index = declared(function, line);
        if (in_.accept(";")) {
            return;
        }
        if (module_.functions[index].defined) {
            in_.fail();
        }
        function.defined = true;
        module_.functions[index] = std::move(function);
        read_body(in_, module_, names_, module_.functions[index]);
    }

    // The function's place, whether it was declared before or not.
    std::uint32_t declared(const Function &function, int line) {
        if (const auto known = names_.find(function.name)) {
            if (known->kind != Kind::function) {
                in_.fail();
            }
            return known->index;
        }
        const auto index = static_cast<std::uint32_t>(module_.functions.size());
        names_.declare(function.name, {Kind::function, index}, line);
        module_.functions.push_back(function);
        return index;
    }

    // .maxntid 256, 1, 1 .minnctapersm 2 .reqnctapercluster 2, 1, 1 .noreturn …
    void read_tuning(Function &function) {
        while (in_.token().kind == Token::Kind::directive) {
            const Token word = in_.take();
            std::array<std::uint64_t, 3> values{1, 1, 1};
            if (word.is(".pragma")) {
                in_.skip_statement();
                continue;
            }
            if (word.is(".attribute")) {
                while (!in_.accept(")")) {
                    if (in_.take().kind == Token::Kind::end) {
                        in_.fail();
                    }
                }
                continue;
            }
            if (in_.token().kind == Token::Kind::number) {
                std::size_t count = 0;
                do {
                    if (count == values.size()) {
                        in_.fail();
                    }
                    values[count++] = in_.number();
                } while (in_.accept(","));
            }
            if (word.is(".maxntid") || word.is(".reqntid")) {
                function.max_threads = static_cast<unsigned int>(
                    std::clamp<std::uint64_t>(values[0] * values[1] * values[2], 1, 1024));
            } else if (word.is(".maxnreg")) {
                function.max_registers = static_cast<unsigned int>(
                    std::min<std::uint64_t>(values[0], function.max_registers));
            } else if (word.is(".reqnctapercluster")) {
                std::transform(
                    values.begin(), values.end(), function.cluster.begin(),
                    [](std::uint64_t value) { return static_cast<unsigned int>(value); });
            } else if (word.is(".explicitcluster")) {
                function.explicit_cluster = true;
            } else if (word.is(".maxclusterrank")) {
                function.max_cluster_rank = static_cast<unsigned int>(values[0]);
            }
        }
    }

    Lexer in_;
    int newest_;
    Module module_;
    Scopes names_;
};

} // namespace

Module read(std::string_view text, int newest) {
    return ModuleReader(text, newest).read();
}

} // namespace sim::ptx
