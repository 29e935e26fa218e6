// SPDX-License-Identifier: MIT
// From text to values, in one pass: each value is put in its place once, and no place is looked at
// again. (The callback of nlohmann's own parser makes it look through the parent of each value.)
#include "json/reader.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"

#include <utility>

#include <fmt/format.h>

namespace tool
{
namespace
{

using value = nlohmann::json;

constexpr std::size_t depth_max = 16;

// More than any report of its largest size has. A value takes up to 200 bytes of memory, but only
// two of the text.
constexpr std::size_t values_max = std::size_t{1} << 23;

class builder final : public nlohmann::json_sax<value>
{
  public:
    builder(const std::string& text, const std::string& path) : text_(text), path_(path) {}

    value take()
    {
        return std::move(root_);
    }

    bool null() override
    {
        return add(nullptr);
    }

    bool boolean(bool truth) override
    {
        return add(truth);
    }

    bool number_integer(number_integer_t number) override
    {
        return add(number);
    }

    bool number_unsigned(number_unsigned_t number) override
    {
        return add(number);
    }

    bool number_float(number_float_t number, const string_t&) override
    {
        return add(number);
    }

    bool string(string_t& text) override
    {
        return add(std::move(text));
    }

    bool binary(binary_t&) override
    {
        return false;  // not in text
    }

    bool start_object(std::size_t) override
    {
        return open(value::object());
    }

    // If two members have one name, the second counts.
    bool key(string_t& name) override
    {
        member_ = &(*open_.back())[std::move(name)];
        return true;
    }

    bool end_object() override
    {
        return close();
    }

    bool start_array(std::size_t) override
    {
        return open(value::array());
    }

    bool end_array() override
    {
        return close();
    }

    bool
    parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception&) override
    {
        if (byte > text_.size()) {
            refuse(fmt::format("ends too early, after {} bytes", text_.size()));
        }
        refuse(fmt::format("not JSON: error at byte {}", byte));
    }

  private:
    [[noreturn]] void refuse(const std::string& why) const
    {
        throw failure(fmt::format("{}: {}", shown(path_), why));
    }

    value& place(value made)
    {
        if (++values_ > values_max) {
            refuse("too many values for an eggbox file");
        }
        if (open_.empty()) {
            root_ = std::move(made);
            return root_;
        }
        value& parent = *open_.back();
        if (parent.is_array()) {
            parent.push_back(std::move(made));
            return parent.back();
        }
        *member_ = std::move(made);
        return *member_;
    }

    bool add(value made)
    {
        place(std::move(made));
        return true;
    }

    bool open(value made)
    {
        if (open_.size() == depth_max) {
            refuse("nested too deeply for an eggbox file");
        }
        open_.push_back(&place(std::move(made)));
        return true;
    }

    bool close()
    {
        open_.pop_back();
        return true;
    }

    const std::string&  text_;
    const std::string&  path_;
    value               root_;
    std::vector<value*> open_;              // from the root on; each is the last in its parent
    value*              member_ = nullptr;  // the value to come, in an object
    std::size_t         values_ = 0;
};

}  // namespace

nlohmann::json parse_json(const std::string& text, const std::string& path)
{
    builder out(text, path);
    nlohmann::json::sax_parse(text, &out);
    return out.take();
}

}  // namespace tool
