// SPDX-License-Identifier: MIT
// The shape of a shared pool: planned by create, checked by attach.
#include "shared_private.h"

#include "../core/util.h"

// Every version has the magic and itself at the same place, and the locks of its attachments: gc.c
// relies on that.
enum { SHAPE_VERSION = 2, ALIGN_DEFAULT = 64, ALIGN_MAX = 4096 };

// Another order of bytes is another number.
#define SHAPE_MAGIC ((uint64_t)0x4567676253686d31)

// Pages of all systems are whole parts of this, but the large ones of a hugetlbfs.
#define PAYLOAD_ALIGN ((uint64_t)65536)

static uint64_t up_to(uint64_t bytes, uint64_t step)
{
    return (bytes + (step - 1)) & ~(step - 1);
}

static size_t text_bytes(const char* text, size_t most)
{
    size_t length = 0;
    while (length < most && text[length] != '\0') {
        length++;
    }
    return length;
}

bool egb_shared_path_(char* out, size_t bytes, const char* name)
{
    static const char start[] = EGB_SHARED_FOLDER_ "/" EGB_SHARED_PREFIX_;
    const size_t      length  = text_bytes(name, EGB_SHARED_NAME_BYTES_MAX + 1);
    const size_t      front   = name[0] == '/' ? 0 : sizeof start - 1;
    if (length == 0 || length > EGB_SHARED_NAME_BYTES_MAX || front + length >= bytes) {
        return false;
    }
    for (size_t i = 0; front != 0 && i < length; i++) {
        if (name[i] == '/') {
            return false;
        }
    }
    for (size_t i = 0; i < front; i++) {
        out[i] = start[i];
    }
    for (size_t i = 0; i <= length; i++) {
        out[front + i] = name[i];
    }
    return name[length - 1] != '/';
}

// FNV-1a: finds accidents.
static uint64_t sum_of(const egb_shared_shape_* shape)
{
    const unsigned char* const bytes = (const unsigned char*)shape;
    uint64_t                   sum   = 0xcbf29ce484222325u;
    for (size_t i = 0; i < offsetof(egb_shared_shape_, sum); i++) {
        sum = (sum ^ bytes[i]) * 0x100000001b3u;
    }
    return sum;
}

void egb_shared_seal_shape_(egb_shared_shape_* shape)
{
    shape->sum = sum_of(shape);
}

// The places of the parts follow from the numbers, and from the pages of the file. None of these
// sums can pass 2^64: there are at most 2^24 blocks, each of at most 2^38 bytes.
static void place_parts(egb_shared_shape_* shape, uint64_t page)
{
    const uint64_t align = page > PAYLOAD_ALIGN ? page : PAYLOAD_ALIGN;
    const uint64_t words = (shape->count + 63) / 64;
    shape->blocks_at     = up_to(sizeof(egb_shared_state_), 64);
    shape->hints_at      = shape->blocks_at + shape->count * sizeof(egb_shared_block_);
    shape->ring_at       = shape->hints_at + up_to(words * sizeof(uint64_t), 64);
    shape->notes_at   = shape->ring_at + up_to(shape->feed_count * sizeof(egb_shared_entry_), 64);
    shape->payload_at = up_to(shape->notes_at + shape->count * shape->note_bytes, align);
    shape->bytes      = up_to(shape->payload_at + shape->count * shape->stride, align);
}

static bool are_options_right(const egb_shared_options* o)
{
    const unsigned flags = EGB_SHARED_PREFAULT | EGB_SHARED_HUGE_PAGES;
    return o->block_bytes != 0 && o->count != 0 && o->count <= EGB_SHARED_BLOCKS_MAX &&
           o->feed_count <= o->count && o->note_bytes <= EGB_SHARED_NOTE_BYTES_MAX &&
           (o->block_align == 0 ||
            (egb_is_power_of_two_(o->block_align) && o->block_align <= ALIGN_MAX)) &&
           (unsigned)o->on_full <= (unsigned)EGB_SHARED_DROP_OLDEST && (o->flags & ~flags) == 0 &&
           (o->permissions & ~0777u) == 0 && o->about_bytes <= EGB_SHARED_ABOUT_BYTES_MAX &&
           (o->about != NULL || o->about_bytes == 0);
}

egb_status egb_shared_plan_(egb_shared_shape_* out, const egb_shared_options* options)
{
    const uint64_t    most  = (uint64_t)1 << 38;
    egb_shared_shape_ shape = {0};
    if (!are_options_right(options) ||
        (options->name != NULL && !egb_shared_path_(shape.path, sizeof shape.path, options->name)
        )) {
        return EGB_INVALID;
    }
    const uint64_t align = options->block_align == 0 ? ALIGN_DEFAULT : options->block_align;
    if (options->block_bytes > most) {
        return EGB_LIMIT;
    }
    shape.magic       = SHAPE_MAGIC;
    shape.version     = SHAPE_VERSION;
    shape.pool        = (uint32_t)(egb_os_random_() ^ egb_os_nanoseconds_()) | 1u;
    shape.block_bytes = options->block_bytes;
    shape.stride      = up_to(options->block_bytes, align);
    shape.count       = options->count;
    shape.feed_count  = options->feed_count;
    shape.note_bytes  = options->note_bytes;
    shape.on_full     = (uint64_t)options->on_full;
    shape.wait_ns     = options->wait_ns;
    shape.about_bytes = options->about_bytes;
    for (size_t i = 0; i < options->about_bytes; i++) {
        shape.about[i] = ((const uint8_t*)options->about)[i];
    }
    place_parts(&shape, options->name == NULL ? 0 : egb_os_shared_page_at_(shape.path));
    if (shape.bytes > PTRDIFF_MAX) {
        return EGB_LIMIT;
    }
    egb_shared_seal_shape_(&shape);
    *out = shape;
    return EGB_OK;
}

// The sum finds accidents; the bounds hold for any file.
static egb_status check_shape(const egb_shared_shape_* shape, uint64_t file_bytes, uint64_t page)
{
    egb_shared_shape_ again = *shape;
    if (shape->magic != SHAPE_MAGIC) {
        return EGB_CORRUPT;
    }
    if (shape->version != SHAPE_VERSION) {
        return EGB_UNSUPPORTED;
    }
    if (shape->sum != sum_of(shape) || shape->count == 0 || shape->count > EGB_SHARED_BLOCKS_MAX ||
        shape->feed_count > shape->count || shape->note_bytes > EGB_SHARED_NOTE_BYTES_MAX ||
        shape->block_bytes == 0 || shape->stride < shape->block_bytes ||
        shape->stride > ((uint64_t)1 << 38) + ALIGN_MAX ||
        shape->about_bytes > EGB_SHARED_ABOUT_BYTES_MAX ||
        shape->path[sizeof shape->path - 1] != '\0') {
        return EGB_CORRUPT;
    }
    place_parts(&again, page);
    const bool is_placed = again.blocks_at == shape->blocks_at &&
                           again.hints_at == shape->hints_at && again.ring_at == shape->ring_at &&
                           again.notes_at == shape->notes_at &&
                           again.payload_at == shape->payload_at && again.bytes == shape->bytes;
    if (!is_placed || file_bytes < shape->bytes) {
        return EGB_CORRUPT;
    }
    return shape->bytes > PTRDIFF_MAX ? EGB_LIMIT : EGB_OK;
}

egb_status egb_shared_read_shape_(int file, egb_shared_shape_* out)
{
    egb_os_shared_file facts;
    const egb_status   status = egb_os_shared_look_(file, &facts);
    if (status != EGB_OK) {
        return status;
    }
    if (!egb_os_shared_read_(file, out, sizeof *out)) {
        return EGB_CORRUPT;
    }
    return check_shape(out, facts.bytes, egb_os_shared_page_(file));
}
