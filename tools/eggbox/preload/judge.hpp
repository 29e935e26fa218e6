// SPDX-License-Identifier: MIT
// Whether a program's malloc can be served from pools, and why not.
#pragma once

#include <string>
#include <vector>

namespace tool
{

struct finding {
    bool        blocks;  // it cannot be served, else: worth knowing
    std::string reason;  // one word for programs: "static"
    std::string text;    // a clause for people: "it is statically linked, so ..."
    std::string remedy;  // what to do about it; may be empty
};

struct verdict {
    std::string              asked;    // as it was named
    std::string              path;     // what was found; empty: nothing
    std::string              machine;  // of the program that is loaded in the end
    std::vector<std::string> runs_by;  // interpreters of a script, outermost first
    std::vector<finding>     findings;
    std::vector<std::string> allocators;  // libraries it brings that have a malloc of their own

    bool can_run() const
    {
        return !path.empty() && !has("not-executable");
    }
    bool can_be_served() const
    {
        return blocker() == nullptr;
    }
    const finding* blocker() const;  // the first one; null: there is none
    bool           has(const std::string& reason) const;
};

/// Looks at `program` as it would be run: a path, or a name to look up in PATH. `library` is what
/// would be preloaded; empty: only the program is judged.
verdict judge(const std::string& program, const std::string& library);

/// The file that runs if `program` is run. Empty if there is none.
std::string find_program(const std::string& program);

/// Where the loader finds a library that is named without a folder. Empty where we cannot tell.
std::string find_preload(const std::string& library);

/// The functions that make a malloc.
const std::vector<std::string>& malloc_functions();

}  // namespace tool
