// SPDX-License-Identifier: MIT
#include "html/html.hpp"

#include "html/assets.hpp"
#include "html/data.hpp"

#include <string_view>

namespace tool
{
namespace
{

// Without "<" no text ends the element that it is in. json_line() has escaped all beyond ASCII.
std::string for_html(const json& value)
{
    std::string out;
    for (const char each : json_line(value)) {
        if (each == '<') {
            out += "\\u003c";
        } else {
            out += each;
        }
    }
    return out;
}

std::string part(std::string_view name, const std::string& data)
{
    return name == "style"    ? page_style
           : name == "script" ? std::string{flame_script} + time_script + page_script
           : name == "data"   ? data
                              : "";
}

}  // namespace

std::string html_page(const std::vector<run_record>& runs, const std::vector<std::string>& files)
{
    const std::string data = for_html(page_data(runs, files));
    std::string_view  rest = page_html;
    std::string       out;
    // Each part is put in once: a name in the data that looks like a part stays as it is.
    for (std::size_t at = rest.find("{{"); at != rest.npos; at = rest.find("{{")) {
        const std::size_t end = rest.find("}}", at);
        out += rest.substr(0, at);
        out += part(rest.substr(at + 2, end - at - 2), data);
        rest = rest.substr(end + 2);
    }
    return out.append(rest);
}

}  // namespace tool
