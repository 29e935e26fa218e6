// SPDX-License-Identifier: MIT
//! The declarations of this crate and the headers of the library are about the same structs: each
//! size, alignment, field and constant, in both directions.
use eggbox_sys::*;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::mem::offset_of;

type Rows = BTreeMap<String, u64>;

macro_rules! sizes {
    ($rows:ident, $type:ident) => {
        $rows.insert(stringify!($type).into(), size_of::<$type>() as u64);
        $rows.insert(concat!(stringify!($type), " align").into(), align_of::<$type>() as u64);
    };
}

macro_rules! structs {
    ($rows:ident, $type:ident { $($field:ident),* }) => {
        sizes!($rows, $type);
        $($rows.insert(
            concat!(stringify!($type), ".", stringify!($field)).into(),
            offset_of!($type, $field) as u64,
        );)*
    };
}

macro_rules! values {
    ($rows:ident, $($name:ident),*) => {
        $($rows.insert(stringify!($name).into(), $name as u64);)*
    };
}

fn core_rows(rows: &mut Rows) {
    structs!(
        rows,
        egb_history {
            level,
            bytes,
            damaged,
            serial,
            alloc_site,
            alloc_file,
            alloc_line,
            alloc_thread,
            free_site,
            alloc_stack,
            free_stack
        }
    );
    structs!(
        rows,
        egb_misuse_event { kind, pool_name, pool, address, block_index, site, history, stack }
    );
    structs!(
        rows,
        egb_fixed {
            first,
            inverse,
            side,
            head,
            bound,
            limit,
            reach,
            stride,
            checksum,
            shift,
            mode
        }
    );
    sizes!(rows, egb_status);
    sizes!(rows, egb_misuse_kind);
    sizes!(rows, egb_level);
    values!(
        rows,
        EGB_OK,
        EGB_INVALID,
        EGB_NO_MEMORY,
        EGB_LIMIT,
        EGB_STALE,
        EGB_BUSY,
        EGB_CORRUPT,
        EGB_UNSUPPORTED,
        EGB_EMPTY,
        EGB_TIMED_OUT,
        EGB_CANCELLED,
        EGB_MISUSE_NO_POOL,
        EGB_MISUSE_FOREIGN,
        EGB_MISUSE_INTERIOR,
        EGB_MISUSE_NEVER_ALLOCATED,
        EGB_MISUSE_DOUBLE_FREE,
        EGB_MISUSE_OVERWRITTEN,
        EGB_MISUSE_WRONG_POOL,
        EGB_MISUSE_STALE,
        EGB_MISUSE_OVERRUN,
        EGB_MISUSE_UNDERRUN,
        EGB_MISUSE_SEALED,
        EGB_MISUSE_WRONG_SIZE,
        EGB_LEVEL_DEFAULT,
        EGB_LEVEL_OFF,
        EGB_LEVEL_CHECK,
        EGB_LEVEL_GUARD,
        EGB_LEVEL_TRACK,
        EGB_LEVEL_PASSTHROUGH,
        EGB_LEVEL_SAMPLE,
        EGB_NO_INDEX,
        EGB_WORD_BYTES
    );
}

#[cfg(feature = "hosted")]
fn hosted_rows(rows: &mut Rows) {
    structs!(rows, egb_pool { slot, generation });
    structs!(
        rows,
        egb_pool_stats {
            name,
            pools,
            block_bytes,
            stride_bytes,
            max_blocks,
            budget_bytes,
            capacity,
            in_use,
            in_magazines,
            peak,
            allocations,
            frees,
            failures,
            chunks,
            bytes_held,
            bytes_prefaulted,
            bytes_huge
        }
    );
    structs!(
        rows,
        egb_pool_options {
            name,
            block_bytes,
            block_align,
            max_blocks,
            reserve_blocks,
            parent,
            budget_bytes,
            memory,
            memory_bytes,
            flags,
            level,
            on_exhausted,
            user
        }
    );
    structs!(rows, egb_heap_class { pool, block_bytes, requests, requested_bytes });
    structs!(
        rows,
        egb_heap_stats {
            large_allocations,
            large_frees,
            large_failures,
            large_in_use,
            large_peak,
            large_bytes,
            large_bytes_peak,
            cached,
            cached_bytes,
            guarded_allocations,
            guarded_in_use,
            guarded_samples,
            quarantined,
            is_measured,
            classes
        }
    );
    sizes!(rows, egb_destroy);
    values!(
        rows,
        EGB_PREFAULT,
        EGB_HUGE_PAGES,
        EGB_CACHE_LINE,
        EGB_FRESH_ZERO,
        EGB_DESTROY_REFUSE,
        EGB_DESTROY_FORCE,
        EGB_HEAP_CLASSES,
        EGB_HEAP_CLASS_BYTES_MAX
    );
}

#[cfg(feature = "hosted")]
fn shared_rows(rows: &mut Rows) {
    structs!(rows, egb_frame { pool, index, generation });
    structs!(
        rows,
        egb_shared_options {
            name,
            block_bytes,
            block_align,
            count,
            feed_count,
            note_bytes,
            on_full,
            wait_ns,
            permissions,
            flags,
            about,
            about_bytes
        }
    );
    structs!(rows, egb_published { block, frame, sequence, missed, note });
    structs!(
        rows,
        egb_shared_numbers {
            block_bytes,
            stride_bytes,
            count,
            feed_count,
            note_bytes,
            bytes,
            in_use,
            only_feed,
            attachments,
            published,
            dropped,
            failures,
            recovered
        }
    );
    sizes!(rows, egb_shared_full);
    values!(
        rows,
        EGB_SHARED_ATTACHMENTS_MAX,
        EGB_SHARED_NOTE_BYTES_MAX,
        EGB_SHARED_ABOUT_BYTES_MAX,
        EGB_SHARED_BLOCKS_MAX,
        EGB_SHARED_NAME_BYTES_MAX,
        EGB_SHARED_FOREVER,
        EGB_SHARED_HELD_BY_FEED,
        EGB_SHARED_FAIL,
        EGB_SHARED_WAIT,
        EGB_SHARED_DROP_OLDEST,
        EGB_SHARED_READ_ONLY,
        EGB_SHARED_PREFAULT,
        EGB_SHARED_HUGE_PAGES
    );
}

fn rows_of_c() -> Rows {
    let mut count = 0;
    // SAFETY: the function writes the length of a table that lives for ever, and returns it.
    let rows = unsafe { std::slice::from_raw_parts(egb_rust_layout_(&mut count), count as usize) };
    rows.iter()
        .map(|row| {
            // SAFETY: a literal of the C source.
            let name = unsafe { CStr::from_ptr(row.name) };
            (name.to_str().unwrap().to_owned(), row.value)
        })
        .collect()
}

#[test]
fn rust_and_c_see_the_same() {
    let mut rows = Rows::new();
    core_rows(&mut rows);
    #[cfg(feature = "hosted")]
    hosted_rows(&mut rows);
    #[cfg(feature = "hosted")]
    shared_rows(&mut rows);
    let of_c = rows_of_c();
    assert!(of_c.len() > 40);
    for (name, value) in &of_c {
        assert_eq!(Some(value), rows.get(name), "{name}");
    }
    assert_eq!(of_c.len(), rows.len(), "a row of Rust is not in layout.c");
}
