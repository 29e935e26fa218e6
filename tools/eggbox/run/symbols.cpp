// SPDX-License-Identifier: MIT
#include "run/symbols.hpp"

#if defined(EGGBOX_HAS_DW)
  #include <cstdlib>
  #include <map>
  #include <memory>

  #include <cxxabi.h>
  #include <elfutils/libdwfl.h>
  #include <sys/stat.h>
#endif

namespace tool
{

#if defined(EGGBOX_HAS_DW)
namespace
{

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

    // A place is a return address, which may belong to the next line or the next function already.
    // The address before it belongs to the call.
    void look(place_record& place) const
    {
        if (module_ == nullptr || place.offset == 0) {
            return;
        }
        const Dwarf_Addr address = place.offset - 1 + bias_;
        if (const char* const name = dwfl_module_addrname(module_, address)) {
            place.function = readable(name);
        }
        find_line(address, place);
    }

  private:
    // Searches every compilation unit, because clang writes no table from addresses to units.
    void find_line(Dwarf_Addr address, place_record& place) const
    {
        Dwarf_Addr bias = 0;
        Dwarf_Die* unit = dwfl_module_nextcu(module_, nullptr, &bias);
        while (unit != nullptr && dwarf_haspc(unit, address - bias) <= 0) {
            unit = dwfl_module_nextcu(module_, unit, &bias);
        }
        Dwarf_Line* const line = unit == nullptr ? nullptr : dwarf_getsrc_die(unit, address - bias);
        int               number = 0;
        if (line == nullptr || dwarf_lineno(line, &number) != 0 || number <= 0) {
            return;
        }
        if (const char* const file = dwarf_linesrc(line, nullptr, nullptr)) {
            place.file = file;
            place.line = static_cast<std::uint64_t>(number);
        }
    }

    static std::string readable(const char* name)
    {
        int                                          status = 0;
        const std::unique_ptr<char, void (*)(void*)> text{
            abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free
        };
        return text == nullptr ? name : text.get();
    }

    static const Dwfl_Callbacks callbacks;

    std::unique_ptr<Dwfl, void (*)(Dwfl*)> session_;
    Dwfl_Module*                           module_ = nullptr;
    GElf_Addr                              bias_   = 0;
};

const Dwfl_Callbacks module_file::callbacks = {
    dwfl_build_id_find_elf, dwfl_standard_find_debuginfo, dwfl_offline_section_address, nullptr
};

class sources
{
  public:
    void find(place_record& place)
    {
        if (!place.module.empty() && place.file.empty() && place.function.empty()) {
            modules_.try_emplace(place.module, place.module).first->second.look(place);
        }
    }

  private:
    std::map<std::string, module_file> modules_;
};

}  // namespace

void find_sources(run_record& run)
{
    (void)unsetenv("DEBUGINFOD_URLS");  // libdw would ask the network
    sources all;
    for (process_record& process : run.processes) {
        for (leak_record& leak : process.leaks) {
            all.find(leak.site);
        }
        for (event_record& event : process.events) {
            all.find(event.site);
            all.find(event.alloc_site);
            all.find(event.free_site);
        }
    }
}

#else

void find_sources(run_record&) {}

#endif

}  // namespace tool
