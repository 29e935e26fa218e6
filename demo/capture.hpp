// SPDX-License-Identifier: MIT
// Reads a packet capture: a file in the classic pcap format, in either byte order, with times in
// microseconds or nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace demo
{

/// A frame as it was captured. Its bytes lie in the capture's `bytes`.
struct frame {
    std::uint64_t time_us;   // since the first frame
    std::size_t   offset;    // in `bytes`
    std::uint32_t captured;  // how many bytes are there
    std::uint32_t on_wire;   // how many there were
};

struct capture {
    std::vector<unsigned char> bytes;  // the file
    std::vector<frame>         frames;
};

/// Names the fault in a file, in one sentence, with the offset at which it was noticed.
struct bad_capture : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Finds the frames in a file's bytes. Throws bad_capture; reads no byte beyond the last.
capture parse_capture(std::vector<unsigned char> bytes);

/// Reads a file. Throws bad_capture if it cannot be read, or is no capture of Ethernet frames.
capture read_capture(const std::string& path);

}  // namespace demo
