// SPDX-License-Identifier: MIT
//! Searches files for a pattern: all memory of the program is from the heap of eggbox.

#[global_allocator]
static HEAP: eggbox::Heap = eggbox::Heap;

fn main() {
    words::main();
    if let (Ok(heap), Some(_)) = (HEAP.stats(), std::env::var_os("WORDS_STATS")) {
        eprintln!(
            "{} small and {} large allocations, {} KiB held",
            heap.small.allocations,
            heap.large_allocations,
            (heap.small.bytes_held + heap.large_bytes) / 1024
        );
    }
}
