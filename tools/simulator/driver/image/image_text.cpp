// The text form of an image; see image.hpp.
#include "image/image.hpp"

#include <algorithm>
#include <charconv>

namespace sim {
namespace {

constexpr std::size_t max_parameter_bytes = 32764;
constexpr std::size_t max_parameters = 4096;
constexpr int max_bytes = 1 << 30;

// One statement: words separated by blanks; the first is its keyword.
class Statement {
  public:
    Statement(std::string_view text, int line) : rest_(text), line_(line) {}

    // The next word, or "" at the end.
    std::string_view next() {
        const auto begin = rest_.find_first_not_of(" \t\r");
        if (begin == rest_.npos) {
            rest_ = {};
            return {};
        }
        rest_.remove_prefix(begin);
        const auto end = std::min(rest_.find_first_of(" \t\r"), rest_.size());
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return word;
    }
    std::string name() {
        const std::string_view word = next();
        if (word.empty() || word.find('=') != word.npos) {
            fail("a name is missing");
        }
        return std::string(word);
    }
    void end() {
        if (const auto word = next(); !word.empty()) {
            fail(std::string("'").append(word).append("' is not understood"));
        }
    }
    [[noreturn]] void fail(const std::string &text) const {
        throw ImageProblem{CUDA_ERROR_INVALID_IMAGE,
                           "cushim-sim-image, line " + std::to_string(line_) + ": " + text};
    }

    std::size_t number(std::string_view text, std::size_t most) const {
        int base = 10;
        std::string_view digits = text;
        if (digits.starts_with("0x")) {
            digits.remove_prefix(2);
            base = 16;
        }
        std::size_t value = 0;
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
        if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
            fail(std::string("'").append(text).append("' is not a number"));
        }
        if (value > most) {
            fail(std::string(text) + " exceeds the limit of " + std::to_string(most));
        }
        return value;
    }
    int small(std::string_view text, int most = max_bytes) const {
        return static_cast<int>(number(text, static_cast<std::size_t>(most)));
    }

  private:
    std::string_view rest_;
    int line_;
};

// Calls each(part) for every part of "a,b,c"; not at all for "".
void split(std::string_view text, const auto &each) {
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        each(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (comma != text.npos && text.empty()) {
            return;
        }
    }
}

void read_parameters(const Statement &in, std::string_view list, ImageKernel &kernel) {
    split(list, [&](std::string_view part) {
        const auto colon = part.find(':');
        const std::size_t size = in.number(part.substr(0, colon), max_parameter_bytes);
        std::size_t alignment = 0;
        if (colon != part.npos) {
            alignment = in.number(part.substr(colon + 1), 256);
            if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
                in.fail("the alignment must be a power of two");
            }
        }
        if (size == 0) {
            in.fail("a parameter has 0 bytes");
        }
        kernel.add_parameter(size, alignment);
        if (kernel.parameter_bytes() > max_parameter_bytes ||
            kernel.parameters.size() > max_parameters) {
            in.fail("too many parameters");
        }
    });
}

void read_cluster(const Statement &in, std::string_view list, ImageKernel &kernel) {
    unsigned int count = 0;
    split(list, [&](std::string_view part) {
        if (count == 3) {
            in.fail("a cluster must have three dimensions");
        }
        kernel.cluster[count++] = static_cast<unsigned int>(in.small(part, 1024));
    });
    if (count != 3 || std::count(kernel.cluster, kernel.cluster + 3, 0U) != 0) {
        in.fail("a cluster must have three dimensions of at least 1");
    }
}

ImageKernel read_kernel(Statement &in) {
    ImageKernel kernel;
    kernel.name = in.name();
    for (std::string_view word = in.next(); !word.empty(); word = in.next()) {
        const auto equals = word.find('=');
        const std::string_view key = word.substr(0, equals);
        const std::string_view value = equals == word.npos ? "" : word.substr(equals + 1);
        if (key == "params") {
            read_parameters(in, value, kernel);
        } else if (key == "max_threads") {
            kernel.max_threads = in.small(value, 1 << 16);
        } else if (key == "registers") {
            kernel.registers = in.small(value, 255);
        } else if (key == "shared") {
            kernel.shared = in.small(value);
        } else if (key == "local") {
            kernel.local = in.small(value);
        } else if (key == "constant") {
            kernel.constant = in.small(value);
        } else if (key == "cluster") {
            read_cluster(in, value, kernel);
        } else if (key == "ptx") {
            kernel.ptx_version = in.small(value, 999);
        } else if (key == "binary") {
            kernel.binary_version = in.small(value, 999);
        } else {
            in.fail("a kernel has no attribute '" + std::string(key) + "'");
        }
    }
    if (kernel.max_threads == 0) {
        in.fail("a block has 0 threads");
    }
    return kernel;
}

int hex_digit(const Statement &in, char digit) {
    constexpr std::string_view digits = "0123456789abcdefABCDEF";
    const std::size_t place = digits.find(digit);
    if (place == std::string_view::npos) {
        in.fail("init must be hexadecimal, two digits for a byte");
    }
    return static_cast<int>(place < 16 ? place : place - 6);
}

ImageVariable read_variable(Statement &in, ImageVariable::Kind kind) {
    ImageVariable variable;
    variable.kind = kind;
    variable.name = in.name();
    for (std::string_view word = in.next(); !word.empty(); word = in.next()) {
        if (word.starts_with("size=")) {
            variable.size = in.number(word.substr(5), std::size_t(1) << 40);
        } else if (word.starts_with("init=")) {
            const std::string_view digits = word.substr(5);
            if (digits.size() % 2 != 0) {
                in.fail("init must be hexadecimal, two digits for a byte");
            }
            for (std::size_t i = 0; i < digits.size(); i += 2) {
                variable.initial.push_back(static_cast<std::byte>(hex_digit(in, digits[i]) * 16 +
                                                                  hex_digit(in, digits[i + 1])));
            }
        } else {
            in.fail("a variable has no attribute '" + std::string(word) + "'");
        }
    }
    if (variable.size == 0) {
        in.fail("a variable must have a size");
    }
    if (variable.initial.size() > variable.size) {
        in.fail("init is longer than the variable");
    }
    return variable;
}

int read_target(Statement &in) {
    const std::string_view word = in.next();
    const auto dot = word.find('.');
    if (!word.starts_with("cc=") || dot == word.npos) {
        in.fail("a target is written as cc=9.0");
    }
    in.end();
    return in.small(word.substr(3, dot - 3), 99) * 10 + in.small(word.substr(dot + 1), 9);
}

void read_statement(Statement &in, std::string_view word, Image &image) {
    using Kind = ImageVariable::Kind;
    if (word == "kernel") {
        ImageKernel kernel = read_kernel(in);
        if (image.kernel(kernel.name)) {
            in.fail("duplicate kernel " + kernel.name);
        }
        image.kernels.push_back(std::move(kernel));
    } else if (word == "global" || word == "constant" || word == "managed") {
        ImageVariable variable = read_variable(in, word == "global"     ? Kind::global
                                                   : word == "constant" ? Kind::constant
                                                                        : Kind::managed);
        if (image.variable(variable.name)) {
            in.fail("duplicate variable " + variable.name);
        }
        image.variables.push_back(std::move(variable));
    } else if (word == "texture" || word == "surface") {
        auto &names = word == "texture" ? image.textures : image.surfaces;
        std::string name = in.name();
        in.end();
        if (std::find(names.begin(), names.end(), name) != names.end()) {
            in.fail("a second " + std::string(word) + " " + name);
        }
        names.push_back(std::move(name));
    } else if (word == "target") {
        image.binary_cc = read_target(in);
    } else {
        in.fail(std::string("'").append(word).append("' is not understood"));
    }
}

const char *word_of(ImageVariable::Kind kind) {
    switch (kind) {
    case ImageVariable::Kind::constant:
        return "constant";
    case ImageVariable::Kind::managed:
        return "managed";
    default:
        return "global";
    }
}

void write_kernel(std::string &out, const ImageKernel &kernel) {
    const auto attribute = [&](const char *key, int value) {
        out += std::string(" ") + key + "=" + std::to_string(value);
    };
    out += "kernel " + kernel.name;
    std::size_t end = 0;
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const KernelParameter &p = kernel.parameters[i];
        // The smallest alignment that results in its offset.
        std::size_t alignment = 1;
        while (((end + alignment - 1) & ~(alignment - 1)) != p.offset && alignment < 256) {
            alignment *= 2;
        }
        out +=
            (i == 0 ? " params=" : ",") + std::to_string(p.size) + ":" + std::to_string(alignment);
        end = p.offset + p.size;
    }
    attribute("max_threads", kernel.max_threads);
    attribute("registers", kernel.registers);
    attribute("shared", kernel.shared);
    attribute("local", kernel.local);
    attribute("constant", kernel.constant);
    attribute("ptx", kernel.ptx_version);
    attribute("binary", kernel.binary_version);
    if (kernel.cluster[0] != 0) {
        out += " cluster=" + std::to_string(kernel.cluster[0]) + "," +
               std::to_string(kernel.cluster[1]) + "," + std::to_string(kernel.cluster[2]);
    }
    out += "\n";
}

} // namespace

Image read_text(std::string_view text) {
    Image image;
    int number = 0;
    bool begun = false;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line = line.substr(0, line.find('#'));
        Statement in(line, ++number);
        const std::string_view word = in.next();
        if (word.empty()) {
            continue;
        }
        if (!begun) {
            if (word != "cushim-sim-image" || in.next() != "1") {
                in.fail("the first line must be: cushim-sim-image 1");
            }
            in.end();
            begun = true;
        } else {
            read_statement(in, word, image);
        }
    }
    return image;
}

std::string write_image(const Image &image) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out = "cushim-sim-image 1\n";
    for (const ImageKernel &kernel : image.kernels) {
        write_kernel(out, kernel);
    }
    for (const ImageVariable &variable : image.variables) {
        out += std::string(word_of(variable.kind)) + " " + variable.name +
               " size=" + std::to_string(variable.size);
        if (!variable.initial.empty()) {
            out += " init=";
            for (const std::byte byte : variable.initial) {
                out += digits[static_cast<unsigned int>(byte) >> 4];
                out += digits[static_cast<unsigned int>(byte) & 15U];
            }
        }
        out += "\n";
    }
    for (const std::string &name : image.textures) {
        out += "texture " + name + "\n";
    }
    for (const std::string &name : image.surfaces) {
        out += "surface " + name + "\n";
    }
    const int cc = image.binary_cc;
    if (cc != 0) {
        out += "target cc=" + std::to_string(cc / 10) + "." + std::to_string(cc % 10) + "\n";
    }
    return out;
}

} // namespace sim
