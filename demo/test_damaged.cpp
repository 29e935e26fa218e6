// SPDX-License-Identifier: MIT
// Feeds damaged captures to the reader and the pipeline. Meant for builds with sanitizers: without
// them only a crash, or a result that cannot be, is noticed.
#include "capture.hpp"
#include "memory.hpp"
#include "pipeline.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace
{

using bytes = std::vector<unsigned char>;

constexpr std::size_t damaged_bytes = 6000;  // as far into the file as the damage goes

// Returns how many packets there were; 0: refused.
std::size_t play(bytes file)
{
    try {
        const demo::capture                 source = demo::parse_capture(std::move(file));
        demo::malloc_memory                 memory;
        demo::pipeline<demo::malloc_memory> line{memory};
        for (const demo::frame& each : source.frames) {
            // A copy of just this size, so that a sanitizer sees every byte read behind its end.
            const bytes frame(
                source.bytes.begin() + static_cast<std::ptrdiff_t>(each.offset),
                source.bytes.begin() + static_cast<std::ptrdiff_t>(each.offset + each.captured)
            );
            line.receive(frame.data(), each.captured, 0, each.time_us);
        }
        return static_cast<std::size_t>(line.finish().packets);
    } catch (const demo::bad_capture&) {
        return 0;
    }
}

void check(bool truth, const char* what, std::size_t offset)
{
    if (!truth) {
        std::fprintf(stderr, "%s, byte %zu\n", what, offset);
        std::exit(EXIT_FAILURE);
    }
}

void cut_at_every_byte(const bytes& file)
{
    const demo::capture whole = demo::parse_capture(file);
    std::size_t         ends  = 0;
    for (std::size_t size = 0; size < damaged_bytes; size++) {
        const demo::frame& next   = whole.frames[ends];
        const bool         is_end = size == next.offset + next.captured;
        ends += is_end;
        const std::size_t count =
            play(bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
        check(count == (is_end ? ends : 0), "a file cut inside a record was taken, or", size);
    }
}

// Behind the damage the file is cut where a record ends, so that most of them are still played.
void change_every_byte(const bytes& file)
{
    const demo::capture whole = demo::parse_capture(file);
    std::size_t         size  = 0;
    for (const demo::frame& each : whole.frames) {
        size = size < damaged_bytes ? each.offset + each.captured : size;
    }
    bytes damaged(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    for (std::size_t at = 0; at < damaged_bytes; at++) {
        for (const int change : {0x01, 0x10, 0x80, 0xFF}) {
            damaged[at] = static_cast<unsigned char>(damaged[at] ^ change);
            (void)play(damaged);
            damaged[at] = file[at];
        }
    }
}

bytes read_file(const char* path)
{
    return demo::read_capture(path).bytes;
}

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 2) {
        return EXIT_FAILURE;
    }
    const bytes file = read_file(argv[1]);
    check(play(file) != 0, "the undamaged file was refused", 0);
    cut_at_every_byte(file);
    change_every_byte(file);
    return EXIT_SUCCESS;
}
