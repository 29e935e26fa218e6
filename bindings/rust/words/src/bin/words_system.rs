// SPDX-License-Identifier: MIT
//! The same program on the allocator of the system, for comparison.

fn main() {
    words::main();
}
