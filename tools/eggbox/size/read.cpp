// SPDX-License-Identifier: MIT
// Reads a configuration again: from JSON, or from the comments of a header.
#include "size/configuration.hpp"
#include "text/text.hpp"
#include "json/reader.hpp"

#include <algorithm>

namespace tool
{
namespace
{

size_row read_row(const json_place& from)
{
    size_row out;
    out.block_bytes = from.member("block_bytes").count();
    out.least_bytes = from.member("least_bytes").count();
    out.blocks      = from.member("blocks").count();
    out.peak        = from.member("peak").count();
    out.requests    = from.member("requests").count();
    out.reason      = from.member("reason").text();
    return out;
}

std::vector<size_row> read_rows(const json_place& from)
{
    std::vector<size_row> out;
    for (const json_place& each : from.elements()) {
        out.push_back(read_row(each));
        if (out.size() > 1 && out[out.size() - 2].block_bytes >= out.back().block_bytes) {
            each.refuse("should be larger than the previous size");
        }
    }
    return out;
}

// The pools of the program are read by name and size, in any order.
std::vector<size_row> read_pools(const json_place& from)
{
    std::vector<size_row> out;
    for (const json_place& each : from.elements()) {
        size_row row;
        row.name        = each.member("name").text();
        row.block_bytes = each.member("block_bytes").count();
        row.blocks      = each.member("max_blocks").count();
        out.push_back(std::move(row));
    }
    return out;
}

// A generated header holds the configuration in comments that begin with this text.
constexpr char comment[] = "//: ";

std::string without_code(const std::string& text)
{
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (text.compare(at, sizeof comment - 1, comment) == 0) {
            out += text.substr(at + sizeof comment - 1, end - at - (sizeof comment - 1)) + "\n";
        }
        at = end + 1;
    }
    return out;
}

}  // namespace

configuration parse_configuration(const std::string& text, const std::string& path)
{
    const std::string    embedded = without_code(text);
    const nlohmann::json parsed   = parse_json(embedded.empty() ? text : embedded, path);
    const json_place     top{parsed, shown(path)};
    require_kind(top, "eggbox-size");
    configuration out;
    out.name             = top.member("name").text();
    out.program          = top.member("program").text();
    out.headroom_percent = top.member("headroom_percent").number();
    out.cover_percent    = top.member("cover_percent").number();
    out.requests         = top.member("requests").count();
    out.covered          = top.member("covered").count();
    out.rows             = read_rows(top.member("rows"));
    out.left_out         = read_rows(top.member("left_out"));
    out.pools            = read_pools(top.member("pools"));
    return out;
}

}  // namespace tool
