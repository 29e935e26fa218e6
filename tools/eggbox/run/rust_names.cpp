// SPDX-License-Identifier: MIT
#include "run/rust_names.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace tool
{
namespace
{

bool is_digit(char each)
{
    return std::isdigit(static_cast<unsigned char>(each)) != 0;
}

bool is_lower(char each)
{
    return std::islower(static_cast<unsigned char>(each)) != 0;
}

// Reads a symbol by the grammar of Rust's RFC 2603. Each function is false if the symbol does not
// fit it. Types and constants are read to find their end: the names do not have them.
class symbol_reader
{
  public:
    explicit symbol_reader(std::string_view text) : text_(text) {}

    bool path(std::string& out)
    {
        return bounded(out, [&] { return path_of(next(), out); });
    }

  private:
    // A reference may lead to others, and to itself.
    static constexpr int         depth_max = 100;
    static constexpr int         steps_max = 10000;
    static constexpr std::size_t bytes_max = 4000;

    // Reads a part that may have others in it.
    template <class reading>
    bool bounded(const std::string& out, reading read)
    {
        if (depth_ == depth_max || steps_++ == steps_max || out.size() > bytes_max) {
            return false;
        }
        depth_++;
        const bool fits = read();
        depth_--;
        return fits;
    }

    char peek() const
    {
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    char next()
    {
        const char out = peek();
        at_++;
        return out;
    }

    bool take(char wanted)
    {
        const bool is_there = peek() == wanted;
        at_ += is_there ? 1 : 0;
        return is_there;
    }

    // In base 62: "_" is 0, "0_" is 1.
    bool number(std::size_t& out)
    {
        static constexpr std::string_view digits =
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        if (take('_')) {
            out = 0;
            return true;
        }
        for (out = 0; !take('_');) {
            const std::size_t digit = digits.find(next());
            if (digit == std::string_view::npos) {
                return false;
            }
            out = out * digits.size() + digit;  // the number of a crate may be longer
        }
        out++;
        return true;
    }

    // A number that may be missing, behind its letter.
    bool skip_number(char letter)
    {
        std::size_t ignored = 0;
        return !take(letter) || number(ignored);
    }

    bool name(std::string& out)
    {
        (void)take('u');
        std::size_t length = 0;
        if (!is_digit(peek())) {
            return false;
        }
        const bool is_empty = take('0');  // another number may follow
        while (!is_empty && is_digit(peek()) && length < text_.size()) {
            length = length * 10 + static_cast<std::size_t>(next() - '0');
        }
        (void)take('_');
        if (length > text_.size() - at_) {
            return false;
        }
        out += text_.substr(at_, length);
        at_ += length;
        return true;
    }

    template <class part>
    bool referred(std::string& out, part read)
    {
        std::size_t to = 0;
        if (!number(to) || to >= at_) {
            return false;
        }
        const std::size_t back = std::exchange(at_, to);
        const bool        fits = bounded(out, [&] { return (this->*read)(out); });
        at_                    = back;
        return fits;
    }

    bool path_of(char kind, std::string& out)
    {
        std::string ignored;
        switch (kind) {
            case 'C': return skip_number('s') && name(out);
            case 'N': return nested(out);
            case 'M': return skip_number('s') && path(ignored) && type(out);
            case 'X': return skip_number('s') && path(ignored) && of_trait(out);
            case 'Y': return of_trait(out);
            case 'I': return path(out) && arguments();
            case 'B': return referred(out, &symbol_reader::path);
            default: return false;
        }
    }

    bool nested(std::string& out)
    {
        const char  kind = next();
        std::string own;
        if (!path(out) || !skip_number('s') || !name(own)) {
            return false;
        }
        const bool is_closure = kind == 'C' && own.empty();
        out += is_closure ? "::closure" : own.empty() ? "" : "::" + own;
        return true;
    }

    bool of_trait(std::string& out)
    {
        std::string type_name, trait;
        const bool  fits = type(type_name) && path(trait);
        out += "<" + type_name + " as " + trait + ">";
        return fits;
    }

    bool arguments()
    {
        std::string ignored;
        while (!take('E')) {
            const bool fits = peek() == 'L' ? skip_number('L')
                              : take('K')   ? constant(ignored)
                                            : type(ignored);
            if (!fits) {
                return false;
            }
        }
        return true;
    }

    bool types()
    {
        std::string ignored;
        while (!take('E')) {
            if (!type(ignored)) {
                return false;
            }
        }
        return true;
    }

    bool type(std::string& out)
    {
        return bounded(out, [&] { return type_of(next(), out); });
    }

    bool type_of(char kind, std::string& out)
    {
        std::string ignored;
        switch (kind) {
            case 'A': return type(out) && constant(ignored);
            case 'T': out += "(..)"; return types();
            case 'R':
            case 'Q': return skip_number('L') && type(out);
            case 'S':
            case 'P':
            case 'O': return type(out);
            case 'F': out += "fn"; return function();
            case 'D': return any_of(out);
            case 'B': return referred(out, &symbol_reader::type);
            default: break;
        }
        if (is_lower(kind)) {
            out += basic(kind);
            return true;
        }
        return path_of(kind, out);
    }

    static std::string_view basic(char kind)
    {
        static constexpr std::string_view names[] = {"i8",  "bool", "char",  "f64",   "str", "f32",
                                                     "",    "u8",   "isize", "usize", "",    "i32",
                                                     "u32", "i128", "u128",  "_",     "",    "",
                                                     "i16", "u16",  "()",    "...",   "",    "i64",
                                                     "u64", "!"};
        return names[kind - 'a'];
    }

    bool function()
    {
        std::string ignored;
        const bool  has_own_call = skip_number('G') && (take('U') || true) && take('K');
        return (!has_own_call || take('C') || name(ignored)) && types() && type(ignored);
    }

    bool any_of(std::string& out)
    {
        std::string ignored;
        out += "dyn ";
        for (bool is_first = skip_number('G'); !take('E'); is_first = false) {
            if (!path(is_first ? out : ignored)) {
                return false;
            }
            while (take('p')) {
                if (!name(ignored) || !type(ignored)) {
                    return false;
                }
            }
        }
        return skip_number('L');
    }

    bool constant(std::string& ignored)
    {
        if (take('p')) {
            return true;
        }
        if (take('B')) {
            return referred(ignored, &symbol_reader::constant);
        }
        if (!is_lower(next())) {
            return false;  // such as a structure
        }
        while (std::isxdigit(static_cast<unsigned char>(peek())) != 0 || peek() == 'n') {
            at_++;
        }
        return take('_');
    }

    std::string_view text_;
    std::size_t      at_    = 0;
    int              depth_ = 0;
    int              steps_ = 0;
};

// The sign that a name of C++ cannot have, of the letters between two $. Braces are left out, as
// those around "closure".
std::optional<std::string_view> sign_of(std::string_view letters)
{
    static constexpr std::pair<std::string_view, std::string_view> signs[] = {
        {"SP", "@"},
        {"BP", "*"},
        {"RF", "&"},
        {"LT", "<"},
        {"GT", ">"},
        {"LP", "("},
        {"RP", ")"},
        {"C", ","},
        {"u20", " "},
        {"u27", "'"},
        {"u5b", "["},
        {"u5d", "]"},
        {"u3b", ";"},
        {"u7b", ""},
        {"u7d", ""},
    };
    for (const auto& [from, to] : signs) {
        if (letters == from) {
            return to;
        }
    }
    return std::nullopt;
}

constexpr std::string_view before_number = "::h";
constexpr std::size_t      number_bytes  = 3 + 16;

// Whether it ends with the number that each function of Rust has.
bool has_number(std::string_view name)
{
    const std::size_t at = name.size() - std::min(name.size(), number_bytes);
    return at > 0 && name.substr(at, before_number.size()) == before_number &&
           name.find_first_not_of("0123456789abcdef", at + before_number.size()) ==
               std::string_view::npos;
}

}  // namespace

std::string rust_path(const std::string& symbol)
{
    std::string   out;
    symbol_reader reader{std::string_view(symbol).substr(std::min<std::size_t>(2, symbol.size()))};
    return symbol.compare(0, 2, "_R") == 0 && reader.path(out) ? out : "";
}

std::string as_rust_name(const std::string& name)
{
    if (!has_number(name)) {
        return name;
    }
    const std::string_view in = std::string_view(name).substr(0, name.size() - number_bytes);
    std::string            out;
    for (std::size_t i = 0; i < in.size(); i++) {
        const bool is_first = i == 0 || in[i - 1] == ':';
        const auto end      = in[i] == '$' ? in.find('$', i + 1) : std::string_view::npos;
        const auto sign =
            end != std::string_view::npos ? sign_of(in.substr(i + 1, end - i - 1)) : std::nullopt;
        if (sign) {
            out += *sign;
            i = end;
        } else if (in.substr(i, 2) == "..") {
            out += "::";
            i++;
        } else if (!is_first || in.substr(i, 2) != "_$") {  // no name begins with a $
            out += in[i];
        }
    }
    return out;
}

}  // namespace tool
