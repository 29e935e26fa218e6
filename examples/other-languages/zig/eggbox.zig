// SPDX-License-Identifier: MIT
//! The heap of eggbox as an allocator for Zig's containers.
//!
//!     zig run eggbox.zig -L PREFIX/lib -leggbox -lc
const std = @import("std");

extern fn egb_malloc(bytes: usize) ?*anyopaque;
extern fn egb_aligned_alloc(alignment: usize, bytes: usize) ?*anyopaque;
extern fn egb_free(block: ?*anyopaque) void;
extern fn egb_block_bytes(block: ?*const anyopaque) usize;

pub const allocator: std.mem.Allocator = .{ .ptr = undefined, .vtable = &.{
    .alloc = alloc,
    .resize = resize,
    .remap = remap,
    .free = free,
} };

fn alloc(_: *anyopaque, bytes: usize, alignment: std.mem.Alignment, _: usize) ?[*]u8 {
    const align_bytes = alignment.toByteUnits();
    return @ptrCast(if (align_bytes <= 16) egb_malloc(bytes) else egb_aligned_alloc(align_bytes, bytes));
}

/// A block has at least the bytes of its size class.
fn resize(_: *anyopaque, block: []u8, _: std.mem.Alignment, bytes: usize, _: usize) bool {
    return bytes <= egb_block_bytes(block.ptr);
}

fn remap(ctx: *anyopaque, block: []u8, alignment: std.mem.Alignment, bytes: usize, from: usize) ?[*]u8 {
    return if (resize(ctx, block, alignment, bytes, from)) block.ptr else null;
}

fn free(_: *anyopaque, block: []u8, _: std.mem.Alignment, _: usize) void {
    egb_free(block.ptr);
}

pub fn main() !void {
    var words = std.StringHashMap(usize).init(allocator);
    defer words.deinit();
    var split = std.mem.tokenizeScalar(u8, "a pool is a stack of blocks a pool gives", ' ');
    while (split.next()) |word| {
        const entry = try words.getOrPutValue(word, 0);
        entry.value_ptr.* += 1;
    }
    const page = try allocator.alignedAlloc(u8, .fromByteUnits(4096), 100);
    defer allocator.free(page);
    std.debug.print("a: {d}, pool: {d}\n", .{ words.get("a").?, words.get("pool").? });
    if (words.get("a").? != 3 or @intFromPtr(page.ptr) % 4096 != 0) return error.Wrong;
}
