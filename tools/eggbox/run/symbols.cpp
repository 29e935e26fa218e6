// SPDX-License-Identifier: MIT
#include "run/symbols.hpp"

#include "run/rust_names.hpp"

#if defined(EGGBOX_HAS_DW)
  #include <cstdlib>
  #include <cstring>
  #include <map>
  #include <memory>
  #include <utility>
  #include <vector>

  #include <cxxabi.h>
  #include <dwarf.h>
  #include <elfutils/libdwfl.h>
  #include <sys/stat.h>
#endif

namespace tool
{

#if defined(EGGBOX_HAS_DW)
namespace
{

// The demangler takes a short name of C for a type: `f` would be `float`.
std::string readable(const char* name)
{
    if (const std::string path = rust_path(name); !path.empty()) {
        return path;
    }
    if (std::strncmp(name, "_Z", 2) != 0) {
        return name;
    }
    int                                          status = 0;
    const std::unique_ptr<char, void (*)(void*)> text{
        abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free
    };
    return text == nullptr ? name : as_rust_name(text.get());
}

// The scopes around a DIE, itself first.
class scopes
{
  public:
    explicit scopes(Dwarf_Die& die) : count_(dwarf_getscopes_die(&die, &all_)) {}

    ~scopes()
    {
        std::free(all_);
    }

    scopes(const scopes&)            = delete;
    scopes& operator=(const scopes&) = delete;

    Dwarf_Die* begin() const
    {
        return all_;
    }

    Dwarf_Die* end() const
    {
        return all_ + (count_ > 0 ? count_ : 0);
    }

  private:
    Dwarf_Die* all_   = nullptr;
    int        count_ = 0;
};

// The DIE that tells the name of a function: where it is declared, for one that is inlined or
// defined elsewhere.
Dwarf_Die declared(Dwarf_Die die)
{
    constexpr int steps_max = 8;  // a damaged file may lead in a circle
    for (int i = 0; i < steps_max; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die       next;
        if ((dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == nullptr &&
             dwarf_attr(&die, DW_AT_specification, &attribute) == nullptr) ||
            dwarf_formref_die(&attribute, &next) == nullptr) {
            break;
        }
        die = next;
    }
    return die;
}

// Appends the DIEs below `parent` whose code has the address, the innermost first: those around an
// inlined function are where it is inlined. dwarf_getscopes() finds those of gcc alone. False:
// there are none.
bool add_code_around(Dwarf_Die& parent, Dwarf_Addr address, std::vector<Dwarf_Die>& out)
{
    Dwarf_Die child;
    for (int is_over = dwarf_child(&parent, &child); is_over == 0;
         is_over     = dwarf_siblingof(&child, &child)) {
        const bool has_code = dwarf_haspc(&child, address) == 1;
        if ((has_code || dwarf_tag(&child) == DW_TAG_namespace) &&
            (add_code_around(child, address, out) || has_code)) {
            if (has_code) {
                out.push_back(child);
            }
            return true;
        }
    }
    return false;
}

// The name with the namespaces, classes and functions around it.
std::string whole_name(const Dwarf_Die& function)
{
    Dwarf_Die   own = declared(function);
    std::string out;
    for (Dwarf_Die& scope : scopes(own)) {
        const int         tag   = dwarf_tag(&scope);
        const char* const name  = dwarf_diename(&scope);
        const bool        is_in = tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
                           tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
                           tag == DW_TAG_subprogram;
        if (out.empty()) {
            out = name == nullptr ? "" : name;
        } else if (is_in) {
            out = (name == nullptr ? "(anonymous)" : name) + ("::" + out);
        }
    }
    return out;
}

std::string name_of(Dwarf_Die& function)
{
    for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
        Dwarf_Attribute attribute;
        if (dwarf_attr_integrate(&function, kind, &attribute) != nullptr) {
            if (const char* const name = dwarf_formstring(&attribute)) {
                return readable(name);
            }
        }
    }
    return whole_name(function);
}

std::uint64_t attribute_of(Dwarf_Die& die, unsigned kind)
{
    Dwarf_Attribute attribute;
    Dwarf_Word      number   = 0;
    const bool      is_there = dwarf_attr_integrate(&die, kind, &attribute) != nullptr &&
                          dwarf_formudata(&attribute, &number) == 0;
    return is_there ? number : 0;
}

// Sets file and line to those of the call that was inlined.
void go_to_call(Dwarf_Die& unit, Dwarf_Die& inlined, place_record& place)
{
    Dwarf_Files* files = nullptr;
    std::size_t  count = 0;
    const auto   file  = static_cast<std::size_t>(attribute_of(inlined, DW_AT_call_file));
    place.file.clear();
    place.line = attribute_of(inlined, DW_AT_call_line);
    if (place.line != 0 && dwarf_getsrcfiles(&unit, &files, &count) == 0 && file < count) {
        if (const char* const path = dwarf_filesrc(files, file, nullptr, nullptr)) {
            place.file = path;
        }
    }
    if (place.file.empty()) {
        place.line = 0;
    }
}

// The DIE with the functions of a unit: another one if the unit's own are in a .dwo file.
Dwarf_Die with_functions(const Dwarf_Die& unit)
{
    Dwarf_Die    split = {};
    std::uint8_t kind  = 0;
    const bool   is_known =
        dwarf_cu_info(unit.cu, nullptr, &kind, nullptr, &split, nullptr, nullptr, nullptr) == 0;
    return is_known && kind == DW_UT_skeleton && split.addr != nullptr ? split : unit;
}

// One program or library, with its debug information if the file or the system has any.
class module_file
{
  public:
    explicit module_file(const std::string& path) : session_(dwfl_begin(&callbacks), dwfl_end)
    {
        struct stat is;
        if (session_ != nullptr && stat(path.c_str(), &is) == 0 && S_ISREG(is.st_mode)) {
            module_ = dwfl_report_offline(session_.get(), path.c_str(), path.c_str(), -1);
            (void)dwfl_report_end(session_.get(), nullptr, nullptr);
        }
        if (module_ != nullptr) {
            (void)dwfl_module_getelf(module_, &bias_);
        }
    }

    // The places of one call: the functions that are inlined there, the innermost first, and the
    // function that they are inlined into. A place is a return address, which may belong to the
    // next line or the next function already. The address before it belongs to the call.
    const stack_record& look(const place_record& place)
    {
        const auto [found, is_new] = known_.try_emplace(place.offset);
        if (is_new) {
            found->second = {place};
            if (module_ != nullptr && place.offset != 0) {
                find(place.offset - 1 + bias_, found->second);
            }
        }
        return found->second;
    }

  private:
    void find(Dwarf_Addr address, stack_record& out) const
    {
        place_record      place = out.back();
        const char* const name  = dwfl_module_addrname(module_, address);
        place.function          = name == nullptr ? "" : readable(name);
        out.clear();
        Dwarf_Addr       bias = 0;
        Dwarf_Die* const unit = unit_of(address, bias);
        if (unit != nullptr) {
            find_line(*unit, address - bias, place);
            Dwarf_Die functions = with_functions(*unit);
            find_inlined(functions, address - bias, place, out);
        }
        out.push_back(place);
    }

    // Searches every compilation unit if need be, because clang writes no table from addresses to
    // units. The table leads addresses between units, as those of Go, to the unit before them.
    Dwarf_Die* unit_of(Dwarf_Addr address, Dwarf_Addr& bias) const
    {
        Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &bias);
        if (unit != nullptr && dwarf_haspc(unit, address - bias) > 0) {
            return unit;
        }
        unit = dwfl_module_nextcu(module_, nullptr, &bias);
        while (unit != nullptr && dwarf_haspc(unit, address - bias) <= 0) {
            unit = dwfl_module_nextcu(module_, unit, &bias);
        }
        return unit;
    }

    static void find_line(Dwarf_Die& unit, Dwarf_Addr address, place_record& place)
    {
        Dwarf_Line* const line   = dwarf_getsrc_die(&unit, address);
        int               number = 0;
        if (line == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) {
            return;
        }
        if (const char* const file = dwarf_linesrc(line, nullptr, nullptr)) {
            place.file = file;
            place.line = static_cast<std::uint64_t>(number);
        }
    }

    // `place` ends as the place in the function that all others are inlined into.
    static void
    find_inlined(Dwarf_Die& unit, Dwarf_Addr address, place_record& place, stack_record& out)
    {
        std::vector<Dwarf_Die> around;
        (void)add_code_around(unit, address, around);
        for (Dwarf_Die& scope : around) {
            const int tag = dwarf_tag(&scope);
            if (tag == DW_TAG_subprogram) {
                break;
            }
            if (tag == DW_TAG_inlined_subroutine) {
                place_record inlined = place;
                inlined.function     = name_of(scope);
                inlined.is_inlined   = true;
                out.push_back(inlined);
                go_to_call(unit, scope, place);
            }
        }
    }

    static const Dwfl_Callbacks callbacks;

    std::unique_ptr<Dwfl, void (*)(Dwfl*)> session_;
    Dwfl_Module*                           module_ = nullptr;
    GElf_Addr                              bias_   = 0;
    std::map<std::uint64_t, stack_record>  known_;  // by offset
};

const Dwfl_Callbacks module_file::callbacks = {
    dwfl_build_id_find_elf, dwfl_standard_find_debuginfo, dwfl_offline_section_address, nullptr
};

class sources
{
  public:
    // The innermost place of a call alone.
    void find(place_record& place)
    {
        if (is_open(place)) {
            place            = look(place).front();
            place.is_inlined = false;
        }
    }

    void find(stack_record& stack)
    {
        stack_record out;
        for (const place_record& each : stack) {
            if (is_open(each)) {
                const stack_record& places = look(each);
                out.insert(out.end(), places.begin(), places.end());
            } else {
                out.push_back(each);
            }
        }
        stack = std::move(out);
    }

  private:
    static bool is_open(const place_record& place)
    {
        return !place.module.empty() && place.file.empty() && place.function.empty();
    }

    const stack_record& look(const place_record& place)
    {
        return modules_.try_emplace(place.module, place.module).first->second.look(place);
    }

    std::map<std::string, module_file> modules_;
};

}  // namespace

void find_sources(run_record& run)
{
    (void)unsetenv("DEBUGINFOD_URLS");  // libdw would ask the network
    sources all;
    for (process_record& process : run.processes) {
        for (std::vector<leak_record>* const sites : {&process.leaks, &process.allocated}) {
            for (leak_record& each : *sites) {
                all.find(each.site);
                all.find(each.stack);
            }
        }
        for (event_record& event : process.events) {
            for (place_record* const place : {&event.site, &event.alloc_site, &event.free_site}) {
                all.find(*place);
            }
            for (stack_record* const stack :
                 {&event.stack, &event.alloc_stack, &event.free_stack}) {
                all.find(*stack);
            }
        }
    }
}

#else

void find_sources(run_record&) {}

#endif

}  // namespace tool
