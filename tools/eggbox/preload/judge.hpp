// SPDX-License-Identifier: MIT
// Judges without running a program whether its malloc can be served from pools, and why not.
#pragma once

#include <string>
#include <vector>

namespace tool
{

struct finding {
    bool        blocks;  // true: the program cannot be served; false: a note
    std::string reason;  // one word for programs: "static"
    std::string text;    // a clause for people: "it is statically linked, so ..."
    std::string remedy;  // a way out; may be empty
};

struct verdict {
    std::string              asked;    // the name the user gave
    std::string              path;     // the file found; empty: none
    std::string              machine;  // the machine of the program that is finally loaded
    std::vector<std::string> runs_by;  // interpreters of a script, outermost first
    std::vector<finding>     findings;
    std::vector<std::string> allocators;  // its libraries with a malloc of their own

    /// False if there is no program, or if the library in it would end it.
    bool can_run() const
    {
        return !path.empty() && !has("not-executable") && !has("sanitizer");
    }
    bool can_be_served() const
    {
        return blocker() == nullptr;
    }
    const finding* blocker() const;  // the first blocking finding; null: none
    bool           has(const std::string& reason) const;
};

/// `program`: a path, or a name to look up in PATH. `library`: the library to preload; empty: only
/// the program is judged.
verdict judge(const std::string& program, const std::string& library);

/// The file that `program` names: the first executable file in PATH, or the path itself. If nothing
/// there can run, a folder or another file of this name, so that judge() can say why it cannot.
/// Empty if there is none.
std::string find_program(const std::string& program);

/// The path where the loader finds a library given without a folder. Empty if that is unknown.
std::string find_preload(const std::string& library);

/// The names of the functions that an allocator defines.
const std::vector<std::string>& malloc_functions();

}  // namespace tool
