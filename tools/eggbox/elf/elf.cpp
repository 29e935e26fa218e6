// SPDX-License-Identifier: MIT
#include "elf/elf.hpp"

#include "text/failure.hpp"
#include "text/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool
{
namespace
{

// A mapped file: a program may have a gigabyte, and only a few of its pages are read.
class file_bytes
{
  public:
    explicit file_bytes(const std::string& path) : path_(path)
    {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file < 0) {
            throw failure(fmt::format("{}: cannot be opened: {}", shown(path), std::strerror(errno))
            );
        }
        struct stat about = {};
        if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
            size_ = static_cast<std::uint64_t>(about.st_size);
            map_  = mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ, MAP_PRIVATE, file, 0);
        }
        close(file);
        if (map_ == MAP_FAILED) {
            size_ = 0;
        }
    }

    ~file_bytes()
    {
        if (map_ != MAP_FAILED) {
            munmap(map_, static_cast<std::size_t>(size_));
        }
    }

    file_bytes(const file_bytes&)            = delete;
    file_bytes& operator=(const file_bytes&) = delete;

    std::uint64_t size() const
    {
        return size_;
    }

    const unsigned char* at(std::uint64_t offset, std::uint64_t bytes) const
    {
        if (offset > size_ || bytes > size_ - offset) {
            throw failure(fmt::format("{}: damaged ELF file", shown(path_)));
        }
        return static_cast<const unsigned char*>(map_) + offset;
    }

    std::string text_at(std::uint64_t offset) const
    {
        const auto* const start = at(offset, 1);
        const void* const end   = std::memchr(start, 0, static_cast<std::size_t>(size_ - offset));
        if (end == nullptr) {
            at(size_, 1);  // throws
        }
        return reinterpret_cast<const char*>(start);
    }

  private:
    std::string   path_;
    std::uint64_t size_ = 0;
    void*         map_  = MAP_FAILED;
};

// The offset and size of a field in 32-bit and in 64-bit files. Numbers have the byte order of the
// file's machine.
struct field {
    unsigned offset32, bytes32, offset64, bytes64;
};
#define EGB_FIELD_(structure, name)                                            \
    field                                                                      \
    {                                                                          \
        offsetof(Elf32_##structure, name), sizeof(Elf32_##structure::name),    \
            offsetof(Elf64_##structure, name), sizeof(Elf64_##structure::name) \
    }

struct segment {
    std::uint64_t type, offset, address, bytes;
};

struct dynamic_section {
    std::uint64_t                symbols = 0, strings = 0, hash = 0, gnu_hash = 0;
    std::vector<std::uint64_t>   needed;  // offsets in the string table
    std::optional<std::uint64_t> runpath, rpath;
};

class elf_reader
{
  public:
    explicit elf_reader(const file_bytes& file) : file_(file)
    {
        const unsigned char* const ident = file.at(0, EI_NIDENT);
        is_64_                           = ident[EI_CLASS] == ELFCLASS64;
        is_little_                       = ident[EI_DATA] != ELFDATA2MSB;
        facts.bits                       = is_64_ ? 64 : 32;
        facts.is_little                  = is_little_;
        facts.machine = static_cast<unsigned>(get(0, EGB_FIELD_(Ehdr, e_machine)));
        read_segments();
        for (const segment& each : segments_) {
            if (each.type == PT_INTERP) {
                facts.is_program  = true;
                facts.interpreter = file_.text_at(each.offset);
            } else if (each.type == PT_DYNAMIC) {
                facts.is_dynamic = true;
                read_dynamic(each);
            }
        }
    }

    void find(const std::vector<std::string>& functions)
    {
        if (!facts.is_dynamic || dynamic_.symbols == 0) {
            return;
        }
        const std::uint64_t symbols = offset_of(dynamic_.symbols);
        const std::uint64_t entry   = is_64_ ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
        const std::uint64_t count   = symbol_count();
        for (std::uint64_t i = 1; i < count; i++) {
            const std::uint64_t at = symbols + i * entry;
            const std::string   name =
                file_.text_at(offset_of(dynamic_.strings) + get(at, EGB_FIELD_(Sym, st_name)));
            if (std::find(functions.begin(), functions.end(), name) != functions.end()) {
                const bool is_defined = get(at, EGB_FIELD_(Sym, st_shndx)) != SHN_UNDEF;
                (is_defined ? facts.defined : facts.imported).push_back(name);
            }
        }
    }

    elf_facts facts;

  private:
    std::uint64_t number(std::uint64_t offset, unsigned bytes) const
    {
        const unsigned char* const at  = file_.at(offset, bytes);
        std::uint64_t              out = 0;
        for (unsigned i = 0; i < bytes; i++) {
            out = out << 8 | at[is_little_ ? bytes - 1 - i : i];
        }
        return out;
    }

    std::uint64_t get(std::uint64_t structure, const field& wanted) const
    {
        return is_64_ ? number(structure + wanted.offset64, wanted.bytes64)
                      : number(structure + wanted.offset32, wanted.bytes32);
    }

    void read_segments()
    {
        const std::uint64_t table = get(0, EGB_FIELD_(Ehdr, e_phoff));
        const std::uint64_t entry = get(0, EGB_FIELD_(Ehdr, e_phentsize));
        const std::uint64_t count = get(0, EGB_FIELD_(Ehdr, e_phnum));
        file_.at(table, entry * count);
        for (std::uint64_t i = 0; i < count; i++) {
            const std::uint64_t at = table + i * entry;
            segments_.push_back(
                {get(at, EGB_FIELD_(Phdr, p_type)),
                 get(at, EGB_FIELD_(Phdr, p_offset)),
                 get(at, EGB_FIELD_(Phdr, p_vaddr)),
                 get(at, EGB_FIELD_(Phdr, p_filesz))}
            );
        }
    }

    // The file offset of the byte that the loader puts at `address`.
    std::uint64_t offset_of(std::uint64_t address) const
    {
        for (const segment& each : segments_) {
            if (each.type == PT_LOAD && address >= each.address &&
                address - each.address < each.bytes) {
                return each.offset + (address - each.address);
            }
        }
        return file_.size() + 1;  // outside of the file: reading there throws
    }

    void read_dynamic(const segment& section)
    {
        const std::uint64_t entry = is_64_ ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
        file_.at(section.offset, section.bytes);
        for (std::uint64_t at = 0; at + entry <= section.bytes; at += entry) {
            const std::uint64_t tag   = get(section.offset + at, EGB_FIELD_(Dyn, d_tag));
            const std::uint64_t value = get(section.offset + at, EGB_FIELD_(Dyn, d_un));
            switch (tag) {
                case DT_NULL: at = section.bytes; break;
                case DT_NEEDED: dynamic_.needed.push_back(value); break;
                case DT_RPATH: dynamic_.rpath = value; break;
                case DT_RUNPATH: dynamic_.runpath = value; break;
                case DT_STRTAB: dynamic_.strings = value; break;
                case DT_SYMTAB: dynamic_.symbols = value; break;
                case DT_HASH: dynamic_.hash = value; break;
                case DT_GNU_HASH: dynamic_.gnu_hash = value; break;
                default: break;
            }
        }
        for (const std::uint64_t name : dynamic_.needed) {
            facts.needed.push_back(file_.text_at(offset_of(dynamic_.strings) + name));
        }
        if (const auto path = dynamic_.runpath ? dynamic_.runpath : dynamic_.rpath) {
            facts.search_path = file_.text_at(offset_of(dynamic_.strings) + *path);
        }
    }

    // Only the hash tables of a loadable file tell the number of symbols.
    std::uint64_t symbol_count() const
    {
        if (dynamic_.hash != 0) {
            const std::uint64_t chains = number(offset_of(dynamic_.hash) + 4, 4);
            file_.at(offset_of(dynamic_.hash), 8 + chains * 4);
            return chains;
        }
        return dynamic_.gnu_hash != 0 ? gnu_symbol_count(offset_of(dynamic_.gnu_hash)) : 0;
    }

    // The last symbol of the last chain, plus one. An odd hash ends a chain.
    std::uint64_t gnu_symbol_count(std::uint64_t hash) const
    {
        const std::uint64_t buckets = number(hash, 4);
        const std::uint64_t first   = number(hash + 4, 4);
        const std::uint64_t start   = hash + 16 + number(hash + 8, 4) * (is_64_ ? 8 : 4);
        const std::uint64_t chains  = start + buckets * 4;
        std::uint64_t       last    = 0;
        file_.at(start, buckets * 4);
        for (std::uint64_t i = 0; i < buckets; i++) {
            last = std::max(last, number(start + i * 4, 4));
        }
        if (last < first) {
            return first;
        }
        while (number(chains + (last - first) * 4, 4) % 2 == 0) {
            last++;
        }
        return last + 1;
    }

    const file_bytes&    file_;
    bool                 is_64_     = true;
    bool                 is_little_ = true;
    std::vector<segment> segments_;
    dynamic_section      dynamic_;
};

}  // namespace

std::string elf_facts::machine_text() const
{
    static const struct {
        unsigned    number;
        const char* name;
    } names[] = {
        {EM_X86_64, "x86-64"},
        {EM_386, "x86"},
        {EM_AARCH64, "ARM"},
        {EM_ARM, "ARM"},
        {EM_RISCV, "RISC-V"},
        {EM_PPC64, "PowerPC"},
        {EM_S390, "IBM Z"},
        {EM_MIPS, "MIPS"},
        {EM_PPC, "PowerPC"},
        {EM_SPARCV9, "SPARC"},
        {EM_LOONGARCH, "LoongArch"},
    };
    for (const auto& each : names) {
        if (each.number == machine) {
            return fmt::format("{}-bit {}", bits, each.name);
        }
    }
    return fmt::format("{}-bit machine number {}", bits, machine);
}

bool elf_facts::runs_with(const elf_facts& other) const
{
    return bits == other.bits && is_little == other.is_little && machine == other.machine;
}

std::optional<elf_facts>
read_elf(const std::string& path, const std::vector<std::string>& functions)
{
    const file_bytes file{path};
    if (file.size() < sizeof(Elf32_Ehdr) ||
        std::memcmp(file.at(0, SELFMAG), ELFMAG, SELFMAG) != 0) {
        return std::nullopt;
    }
    elf_reader reader{file};
    reader.find(functions);
    return reader.facts;
}

}  // namespace tool
