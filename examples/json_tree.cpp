// SPDX-License-Identifier: MIT
// A JSON document as a tree of std::pmr containers: every node and every string of it comes from
// one resource, whose end frees them all.
#include "eggbox/memory_resource.hpp"

#include <cstdio>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>

namespace
{

struct value {
    using allocator_type = std::pmr::polymorphic_allocator<char>;

    explicit value(allocator_type from) : text(from), items(from), members(from) {}

    std::pmr::string                       text;  // a string, a number, true, false or null
    std::pmr::list<value>                  items;
    std::pmr::map<std::pmr::string, value> members;
};

char next(std::string_view& from)
{
    from.remove_prefix(from.find_first_not_of(" \t\r\n,:"));
    return from[0];
}

void read_text(std::string_view& from, std::pmr::string& to)
{
    const bool        is_quoted = from[0] == '"';
    const std::size_t end       = is_quoted ? from.find('"', 1) : from.find_first_of(" ,]}");
    to                          = from.substr(is_quoted ? 1 : 0, end - (is_quoted ? 1 : 0));
    from.remove_prefix(end + (is_quoted ? 1 : 0));
}

void read(std::string_view& from, value& to)
{
    const char first = next(from);
    if (first != '[' && first != '{') {
        read_text(from, to.text);
        return;
    }
    for (from.remove_prefix(1); next(from) != ']' && next(from) != '}';) {
        std::pmr::string name(to.text.get_allocator());
        if (first == '{') {
            read_text(from, name);
        }
        read(from, first == '[' ? to.items.emplace_back() : to.members[std::move(name)]);
    }
    from.remove_prefix(1);
}

}  // namespace

int main()
{
    std::string_view text = R"({"name": "eggbox", "sizes": [16, 32, 64], "of": {"kind": "pool"}})";
    eggbox::memory_resource pools;
    auto* const document = ::new (pools.allocate(sizeof(value), alignof(value))) value(&pools);
    read(text, *document);
    const auto& sizes = document->members.at("sizes").items;
    const auto& kind  = document->members.at("of").members.at("kind").text;
    std::printf(
        "%zu sizes up to %s, of kind %s\n", sizes.size(), sizes.back().text.c_str(), kind.c_str()
    );
    std::printf("blocks of the document: %zu\n", pools.pools().stats().in_use);
    pools.release();  // no destructor of any node runs
    std::printf("after its end: %zu\n", pools.pools().stats().in_use);
    return 0;
}
