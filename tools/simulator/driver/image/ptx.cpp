// Reads a module's contents from PTX: entries with their parameters, variables, texture references.
//
// Declarations are parsed. Of bodies, only the structure of statements and the names of
// instructions are checked: other text fails with INVALID_PTX.
#include "call/settings.hpp"
#include "image/image.hpp"
#include "image/ptx_lexer.hpp"
#include "image/ptx_words.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

namespace sim {
namespace {

using namespace ptx;

// The parts of a declaration before the name, and the dimensions after it.
struct Declaration {
    std::string name;
    std::string_view type;
    std::size_t element = 0, count = 1, alignment = 0;
    bool managed = false;
    std::size_t size() const noexcept { return element * count; }
};

constexpr std::size_t max_size = std::size_t(1) << 40;

class Reader {
  public:
    explicit Reader(std::string_view text) : in_(text) {}

    Image read() {
        read_header();
        while (in_.token().kind != Token::Kind::end) {
            read_module_statement();
        }
        return std::move(image_);
    }

  private:
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
        version_ = major.value_or(0) * 10 + minor.value_or(0);
        const int newest = newest_ptx(driver_version());
        if (!major || !minor || version_ > newest) {
            fail_at(version.line, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                    "fatal   : Unsupported .version " + std::string(version.text) +
                        "; current version is '" + std::to_string(newest / 10) + "." +
                        std::to_string(newest % 10) + "'");
        }
        in_.expect(".target");
        bool architecture = false;
        do {
            const Token target = in_.take();
            if (target.text.starts_with("sm_")) {
                architecture = true;
                const auto read =
                    std::from_chars(target.text.data() + 3, target.text.data() + target.text.size(),
                                    image_.minimum_cc);
                if (read.ec == std::errc::result_out_of_range) {
                    image_.minimum_cc =
                        std::numeric_limits<int>::max(); // higher than that of any device
                }
            } else if (target.kind != Token::Kind::word) {
                in_.fail();
            }
        } while (in_.accept(","));
        if (!architecture) {
            in_.fail();
        }
        if (in_.accept(".address_size")) {
            in_.number();
        }
    }

    void read_module_statement() {
        const bool external = read_linkage();
        const Token first = in_.take();
        if (first.kind != Token::Kind::directive) {
            fail_at(first.line, CUDA_ERROR_INVALID_PTX,
                    "fatal   : Parsing error near '" + std::string(first.text.substr(0, 64)) +
                        "': syntax error");
        }
        if (first.is(".entry")) {
            read_entry();
        } else if (first.is(".func")) {
            read_function();
        } else if (first.is(".global") || first.is(".const")) {
            read_variables(first.is(".const"), external);
        } else if (first.is(".shared") || first.is(".local") || first.is(".tex") ||
                   first.is(".alias") || first.is(".pragma")) {
            skip_statement();
        } else if (first.is(".section")) {
            in_.take();
            skip_block();
        } else if (first.is(".file") || first.is(".loc")) {
            skip_line(first.line);
        } else {
            fail_at(first.line, CUDA_ERROR_INVALID_PTX,
                    "error   : Unknown directive '" + std::string(first.text.substr(0, 64)) + "'");
        }
    }

    // Whether another image defines the name.
    bool read_linkage() {
        bool external = false;
        linkage_ = Linkage::local;
        for (;;) {
            if (in_.accept(".extern")) {
                external = true;
            } else if (in_.accept(".visible")) {
                linkage_ = Linkage::visible;
            } else if (in_.accept(".weak") || in_.accept(".common")) {
                linkage_ = Linkage::weak;
            } else {
                return external;
            }
        }
    }

    void skip_line(int line) {
        while (in_.token().kind != Token::Kind::end && in_.token().line == line) {
            in_.take();
        }
    }
    // Skips to the ';' that ends a statement, including initializers.
    void skip_statement() {
        while (!in_.accept(";")) {
            if (in_.token().kind == Token::Kind::end || in_.token().is("}")) {
                in_.fail();
            }
            if (in_.token().is("{")) {
                skip_block();
            } else {
                in_.take();
            }
        }
    }
    void skip_block() {
        in_.expect("{");
        for (int depth = 1; depth > 0;) {
            const Token token = in_.take();
            if (token.kind == Token::Kind::end) {
                in_.fail();
            }
            depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
        }
    }

    // [.attribute(.managed)] [.align N] [.v2] .type name[N][M]
    Declaration read_declaration() {
        Declaration declared;
        std::size_t vector = 1;
        while (in_.token().kind == Token::Kind::directive) {
            const Token word = in_.take();
            if (word.is(".align")) {
                declared.alignment = in_.number();
                if (declared.alignment == 0 || declared.alignment > 256 ||
                    (declared.alignment & (declared.alignment - 1)) != 0) {
                    in_.fail();
                }
            } else if (word.is(".v2") || word.is(".v4") || word.is(".v8")) {
                vector = static_cast<std::size_t>(word.text[2] - '0');
            } else if (word.is(".attribute")) {
                declared.managed = read_attribute() || declared.managed;
            } else if (word.is(".ptr")) {
                skip_pointer_notes();
            } else if (const std::size_t size = size_of_type(word.text); size != 0) {
                declared.type = word.text;
                declared.element = size;
            } else {
                fail_at(word.line, CUDA_ERROR_INVALID_PTX,
                        "error   : '" + std::string(word.text.substr(0, 64)) + "' is not a type");
            }
        }
        declared.element *= vector;
        if (declared.element == 0) {
            in_.fail();
        }
        declared.name = in_.name();
        while (in_.accept("[")) {
            declared.count *= in_.token().is("]") ? 0 : in_.number();
            in_.expect("]");
            if (declared.count > max_size) {
                in_.fail();
            }
        }
        return declared;
    }
    // (.managed), (.unified(1, 2)): whether it contains managed.
    bool read_attribute() {
        bool managed = false;
        in_.expect("(");
        for (int depth = 1; depth > 0;) {
            const Token token = in_.take();
            if (token.kind == Token::Kind::end) {
                in_.fail();
            }
            managed = managed || token.is(".managed");
            depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
        }
        return managed;
    }
    // ".ptr .global .align 8" describes what a pointer points to, not its own layout.
    void skip_pointer_notes() {
        for (;;) {
            if (in_.accept(".align")) {
                in_.number();
            } else if (!in_.accept(".global") && !in_.accept(".const") && !in_.accept(".shared") &&
                       !in_.accept(".local")) {
                return;
            }
        }
    }

    void read_variables(bool constant, bool external) {
        do {
            if (constant && in_.token().kind == Token::Kind::sign && in_.accept("[")) {
                in_.number(); // .const[bank]
                in_.expect("]");
            }
            const Declaration declared = read_declaration();
            std::size_t count = declared.count;
            if (in_.accept("=")) {
                const std::size_t elements = read_initialiser();
                count = count == 0 ? elements : count;
            }
            if (declared.type == ".texref") {
                image_.textures.push_back(declared.name);
            } else if (declared.type == ".surfref") {
                image_.surfaces.push_back(declared.name);
            } else if (declared.type != ".samplerref" && !external) {
                add_variable(declared, count, constant);
            }
        } while (in_.accept(","));
        in_.expect(";");
    }
    void add_variable(const Declaration &declared, std::size_t count, bool constant) {
        ImageVariable variable;
        variable.kind = declared.managed ? ImageVariable::Kind::managed
                        : constant       ? ImageVariable::Kind::constant
                                         : ImageVariable::Kind::global;
        variable.name = declared.name;
        variable.linkage = linkage_;
        variable.size = declared.element * count;
        variable.initial = std::move(initial_);
        initial_.clear();
        if (variable.size == 0 || image_.variable(variable.name)) {
            in_.fail();
        }
        pack_initial(variable, declared);
        image_.variables.push_back(std::move(variable));
    }
    // Initializers are read as 8 bytes an element; floating-point ones are written 0f3F800000.
    static void pack_initial(ImageVariable &variable, const Declaration &declared) {
        std::vector<std::byte> packed;
        for (std::size_t i = 0; i + 8 <= variable.initial.size(); i += 8) {
            const auto element = variable.initial.begin() + static_cast<std::ptrdiff_t>(i);
            packed.insert(
                packed.end(), element,
                element + static_cast<std::ptrdiff_t>(std::min<std::size_t>(declared.element, 8)));
        }
        packed.resize(std::min(packed.size(), variable.size));
        variable.initial = std::move(packed);
    }
    // Returns the number of elements.
    std::size_t read_initialiser() {
        initial_.clear();
        std::size_t elements = 0;
        int depth = 0;
        bool negative = false;
        do {
            const Token token = in_.take();
            if (token.kind == Token::Kind::end || token.is(";")) {
                in_.fail();
            }
            if (token.is("{") || token.is("(")) {
                ++depth;
            } else if (token.is("}") || token.is(")")) {
                --depth;
            } else if (token.is("-")) {
                negative = true;
            } else if (token.kind == Token::Kind::number || token.kind == Token::Kind::word) {
                add_element(token.text, negative);
                negative = false;
                ++elements;
            }
        } while (depth > 0 || !(in_.token().is(",") || in_.token().is(";")));
        return elements;
    }
    void add_element(std::string_view text, bool negative) {
        int base = 10;
        if (text.size() > 2 && text[0] == '0' && std::strchr("xXfFdD", text[1]) != nullptr) {
            text.remove_prefix(2);
            base = 16;
        }
        std::uint64_t value = 0; // addresses of other variables stay 0
        std::from_chars(text.data(), text.data() + text.size(), value, base);
        value = negative ? 0 - value : value;
        for (int i = 0; i < 8; ++i) {
            initial_.push_back(static_cast<std::byte>(value >> (8 * i)));
        }
    }

    void read_entry() {
        ImageKernel kernel;
        kernel.name = in_.name();
        kernel.linkage = linkage_;
        kernel.ptx_version = image_.minimum_cc;
        if (in_.accept("(") && !in_.accept(")")) {
            do {
                in_.expect(".param");
                const Declaration declared = read_declaration();
                kernel.add_parameter(declared.size(), declared.alignment);
                if (declared.size() == 0 || kernel.parameter_bytes() > 32764) {
                    in_.fail();
                }
            } while (in_.accept(","));
            in_.expect(")");
        }
        read_tuning(kernel);
        if (!in_.accept(";")) {
            read_body(kernel);
            if (image_.kernel(kernel.name)) {
                in_.fail();
            }
            image_.kernels.push_back(std::move(kernel));
        }
    }
    // .maxntid 256, 1, 1 .minnctapersm 2 .reqnctapercluster 2, 1, 1 …
    void read_tuning(ImageKernel &kernel) {
        while (in_.token().kind == Token::Kind::directive) {
            const Token word = in_.take();
            std::size_t values[3] = {1, 1, 1};
            unsigned int count = 0;
            if (word.is(".pragma")) {
                skip_statement();
                continue;
            }
            if (in_.token().kind == Token::Kind::number) {
                do {
                    if (count == 3) {
                        in_.fail();
                    }
                    values[count++] = in_.number();
                } while (in_.accept(","));
            }
            if (word.is(".maxntid") || word.is(".reqntid")) {
                kernel.max_threads = static_cast<int>(
                    std::clamp<std::size_t>(values[0] * values[1] * values[2], 1, 1024));
            } else if (word.is(".maxnreg")) {
                kernel.registers = static_cast<int>(
                    std::min<std::size_t>(values[0], static_cast<std::size_t>(kernel.registers)));
            } else if (word.is(".reqnctapercluster")) {
                for (int i = 0; i < 3; ++i) {
                    kernel.cluster[i] = static_cast<unsigned int>(values[i]);
                }
            }
        }
    }

    // A device function: prototype or body.
    void read_function() {
        ImageKernel discarded;
        while (!in_.token().is("{") && !in_.token().is(";")) {
            if (in_.take().kind == Token::Kind::end) {
                in_.fail();
            }
        }
        if (!in_.accept(";")) {
            read_body(discarded);
        }
    }

    void read_body(ImageKernel &kernel) {
        in_.expect("{");
        for (int depth = 1; depth > 0;) {
            if (in_.accept("{")) {
                ++depth;
            } else if (in_.accept("}")) {
                --depth;
            } else {
                read_statement(kernel);
            }
        }
    }
    void read_statement(ImageKernel &kernel) {
        const Token first = in_.take();
        if (first.kind == Token::Kind::directive) {
            if (first.is(".shared") || first.is(".local")) {
                read_block_variables(first.is(".shared") ? kernel.shared : kernel.local);
            } else if (first.is(".loc") || first.is(".file")) {
                skip_line(first.line);
            } else if (first.is(".section")) {
                in_.take();
                skip_block();
            } else {
                skip_statement();
            }
        } else if (first.is("@")) {
            in_.accept("!");
            in_.name();
            const Token instruction = in_.token();
            in_.name();
            check_instruction(instruction);
            read_operands();
        } else if (first.is(";")) {
            return;
        } else if (first.kind != Token::Kind::word) {
            fail_at(first.line, CUDA_ERROR_INVALID_PTX,
                    "fatal   : Parsing error near '" + std::string(first.text.substr(0, 64)) +
                        "': syntax error");
        } else if (!in_.accept(":")) { // a label
            check_instruction(first);
            read_operands();
        }
    }
    void check_instruction(const Token &word) const {
        if (version_ <= instructions_version && !is_instruction(word.text)) {
            fail_at(word.line, CUDA_ERROR_INVALID_PTX,
                    "error   : Not a name of any known instruction: '" +
                        std::string(word.text.substr(0, 64)) + "'");
        }
    }
    // After the instruction: operands are separated by punctuation, never adjacent.
    void read_operands() {
        bool operand = false;
        while (!in_.accept(";")) {
            const Token token = in_.token();
            if (token.kind == Token::Kind::end || token.is("@")) {
                in_.fail();
            }
            const bool is_operand =
                token.kind == Token::Kind::word || token.kind == Token::Kind::number;
            if (operand && is_operand) {
                in_.fail();
            }
            operand = is_operand;
            if (token.is("{")) {
                skip_block();
            } else if (token.is("}")) {
                in_.fail();
            } else {
                in_.take();
            }
        }
    }
    void read_block_variables(int &bytes) {
        do {
            const Declaration declared = read_declaration();
            const std::size_t alignment =
                std::max<std::size_t>(declared.alignment, declared.element);
            const std::size_t end =
                (static_cast<std::size_t>(bytes) + alignment - 1) / alignment * alignment +
                declared.size();
            if (end > (std::size_t(1) << 30)) {
                in_.fail();
            }
            bytes = static_cast<int>(end);
        } while (in_.accept(","));
        in_.expect(";");
    }

    Lexer in_;
    Image image_;
    int version_ = 0;                  // 84 for 8.4
    Linkage linkage_ = Linkage::local; // of the current statement
    std::vector<std::byte> initial_;
};

} // namespace

Image read_ptx(std::string_view text) {
    return Reader(text).read();
}

} // namespace sim
