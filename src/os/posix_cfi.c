// SPDX-License-Identifier: MIT
// Call-frame information is a program for each function: its instructions say how the rows of a
// table differ, one row for each range of addresses. This runs it up to one address, and keeps of
// the row what a walk needs: the canonical frame address (the top of the next call), the frame
// pointer and the return address.
#include "posix_cfi.h"

#if defined(__x86_64__)

enum {
    REGISTER_FRAME  = 6,   // rbp
    REGISTER_STACK  = 7,   // rsp
    REGISTER_RETURN = 16,  // the column of the return address
    ROWS_KEPT       = 8,
    OP_BREG_FRAME   = 0x76,
    OP_DEREF        = 0x06,
    ENCODING_OMIT   = 0xFF,
    ENTRY_BYTES     = 8  // one entry of the table in .eh_frame_hdr
};

// ---- bytes --------------------------------------------------------------------------------------

typedef struct bytes_left {
    const unsigned char* at;
    const unsigned char* end;
    bool                 is_bad;  // for good: more was asked for than there is, or is understood
} bytes_left;

static void give_up(bytes_left* in)
{
    in->at     = in->end;
    in->is_bad = true;
}

static void skip_bytes(bytes_left* in, uint64_t bytes)
{
    if (bytes > (uint64_t)(in->end - in->at)) {
        give_up(in);
        return;
    }
    in->at += bytes;
}

static uint64_t take_number(bytes_left* in, size_t bytes)
{
    uint64_t                   out  = 0;
    const unsigned char* const from = in->at;
    skip_bytes(in, bytes);
    if (!in->is_bad) {
        (void)__builtin_memcpy(&out, from, bytes);
    }
    return out;
}

// The same as a number with a sign.
static int64_t take_signed(bytes_left* in, size_t bytes)
{
    const unsigned unused = 64 - 8 * (unsigned)bytes;
    return (int64_t)(take_number(in, bytes) << unused) >> unused;
}

// LEB128. What does not fit into 64 bits is lost.
static uint64_t take_leb(bytes_left* in, bool is_signed)
{
    uint64_t out   = 0;
    unsigned shift = 0;
    uint64_t byte  = 0x80;
    while ((byte & 0x80) != 0 && !in->is_bad) {
        byte = take_number(in, 1);
        out |= shift < 64 ? (byte & 0x7F) << shift : 0;
        shift += 7;
    }
    return is_signed && (byte & 0x40) != 0 && shift < 64 ? out | UINT64_MAX << shift : out;
}

static uint64_t take_unsigned_leb(bytes_left* in)
{
    return take_leb(in, false);
}

static int64_t take_signed_leb(bytes_left* in)
{
    return (int64_t)take_leb(in, true);
}

// A number of one of the formats that a pointer can have there.
static uint64_t take_format(bytes_left* in, unsigned encoding)
{
    switch (encoding & 0x0F) {
        case 0x0:
        case 0x4:
        case 0xC: return take_number(in, 8);
        case 0x1: return take_unsigned_leb(in);
        case 0x2: return take_number(in, 2);
        case 0x3: return take_number(in, 4);
        case 0x9: return (uint64_t)take_signed_leb(in);
        case 0xA: return (uint64_t)take_signed(in, 2);
        case 0xB: return (uint64_t)take_signed(in, 4);
        default: give_up(in); return 0;
    }
}

// A pointer, absolute or relative to its own place: no other is in use for code.
static uint64_t take_pointer(bytes_left* in, unsigned encoding)
{
    const uint64_t here     = (uint64_t)(uintptr_t)in->at;
    const uint64_t out      = take_format(in, encoding);
    const unsigned relative = encoding & 0xF0;
    if (relative != 0 && relative != 0x10) {
        give_up(in);
    }
    return relative == 0x10 ? out + here : out;
}

// ---- rows ---------------------------------------------------------------------------------------

typedef enum rule_kind {
    RULE_NONE,  // as it was in the call inside
    RULE_UNDEFINED,
    RULE_SAVED,     // at the offset from the canonical frame address
    RULE_BY_FRAME,  // at the offset from the frame pointer
    RULE_OTHER
} rule_kind;

typedef struct register_rule {
    rule_kind kind;
    int64_t   offset;
} register_rule;

typedef struct cfi_row {
    egb_cfi_top   top;
    int64_t       top_offset;
    register_rule frame;
    register_rule back;  // the rule of the return address
    register_rule stack;
    register_rule others;  // written, but never looked at
} cfi_row;

typedef struct cfi_run {
    bytes_left in;
    cfi_row    row;
    cfi_row    first;  // as the CIE leaves it
    cfi_row    kept[ROWS_KEPT];
    size_t     kept_count;
    uint64_t   place;      // the address from which on the row holds
    uint64_t   code_unit;  // from the CIE, as the next
    int64_t    data_unit;
} cfi_run;

static register_rule* rule_of(cfi_row* row, uint64_t which)
{
    switch (which) {
        case REGISTER_FRAME: return &row->frame;
        case REGISTER_STACK: return &row->stack;
        case REGISTER_RETURN: return &row->back;
        default: return &row->others;
    }
}

static void set_rule(cfi_run* run, uint64_t which, rule_kind kind, int64_t offset)
{
    *rule_of(&run->row, which) = (register_rule){kind, offset};
}

static void set_saved(cfi_run* run, uint64_t which, int64_t units)
{
    int64_t    offset  = 0;
    const bool is_much = __builtin_mul_overflow(units, run->data_unit, &offset);
    set_rule(run, which, is_much ? RULE_OTHER : RULE_SAVED, offset);
}

static void restore_rule(cfi_run* run, uint64_t which)
{
    *rule_of(&run->row, which) = *rule_of(&run->first, which);
}

static void set_top_register(cfi_run* run, uint64_t which)
{
    run->row.top = which == REGISTER_STACK   ? EGB_CFI_BY_STACK
                   : which == REGISTER_FRAME ? EGB_CFI_BY_FRAME
                                             : EGB_CFI_OTHER;
}

static void set_top_offset(cfi_run* run, int64_t offset, int64_t unit)
{
    if (__builtin_mul_overflow(offset, unit, &run->row.top_offset)) {
        give_up(&run->in);
    }
}

// The expression "frame pointer + offset", and behind it `last` operations more. False: another.
static bool take_frame_offset(cfi_run* run, int64_t* offset, bool is_word)
{
    const uint64_t bytes = take_unsigned_leb(&run->in);
    bytes_left     in    = run->in;
    skip_bytes(&run->in, bytes);
    if (run->in.is_bad) {
        return false;
    }
    in.end           = run->in.at;
    const bool is_it = take_number(&in, 1) == OP_BREG_FRAME;
    *offset          = take_signed_leb(&in);
    return is_it && (!is_word || take_number(&in, 1) == OP_DEREF) && !in.is_bad && in.at == in.end;
}

// The compiler writes these two for functions that align their stack.
static void set_top_expression(cfi_run* run)
{
    const bool is_it = take_frame_offset(run, &run->row.top_offset, true);
    run->row.top     = is_it ? EGB_CFI_BY_POINTER : EGB_CFI_OTHER;
}

static void set_rule_expression(cfi_run* run)
{
    const uint64_t which  = take_unsigned_leb(&run->in);
    int64_t        offset = 0;
    const bool     is_it  = take_frame_offset(run, &offset, false);
    set_rule(run, which, is_it ? RULE_BY_FRAME : RULE_OTHER, offset);
}

// ---- instructions -------------------------------------------------------------------------------

static void keep_row(cfi_run* run)
{
    if (run->kept_count == ROWS_KEPT) {
        give_up(&run->in);
        return;
    }
    run->kept[run->kept_count++] = run->row;
}

static void take_row_back(cfi_run* run)
{
    if (run->kept_count == 0) {
        give_up(&run->in);
        return;
    }
    run->row = run->kept[--run->kept_count];
}

// The instructions about a register, by the numbers of DWARF.
static void run_register(cfi_run* run, uint64_t instruction)
{
    const uint64_t which = take_unsigned_leb(&run->in);
    switch (instruction) {
        case 0x05: set_saved(run, which, (int64_t)take_unsigned_leb(&run->in)); break;
        case 0x06: restore_rule(run, which); break;
        case 0x07: set_rule(run, which, RULE_UNDEFINED, 0); break;
        case 0x08: set_rule(run, which, RULE_NONE, 0); break;
        case 0x11: set_saved(run, which, take_signed_leb(&run->in)); break;
        case 0x09:  // in another register
        case 0x14:  // the value itself is an offset
            (void)take_unsigned_leb(&run->in);
            set_rule(run, which, RULE_OTHER, 0);
            break;
        case 0x15:
            (void)take_signed_leb(&run->in);
            set_rule(run, which, RULE_OTHER, 0);
            break;
        case 0x16:  // the value itself is an expression
            skip_bytes(&run->in, take_unsigned_leb(&run->in));
            set_rule(run, which, RULE_OTHER, 0);
            break;
        default: give_up(&run->in); break;
    }
}

static void run_other(cfi_run* run, uint64_t instruction)
{
    bytes_left* const in = &run->in;
    switch (instruction) {
        case 0x00: break;
        case 0x02: run->place += take_number(in, 1) * run->code_unit; break;
        case 0x03: run->place += take_number(in, 2) * run->code_unit; break;
        case 0x04: run->place += take_number(in, 4) * run->code_unit; break;
        case 0x0A: keep_row(run); break;
        case 0x0B: take_row_back(run); break;
        case 0x0C:
            set_top_register(run, take_unsigned_leb(in));
            set_top_offset(run, (int64_t)take_unsigned_leb(in), 1);
            break;
        case 0x0D: set_top_register(run, take_unsigned_leb(in)); break;
        case 0x0E: set_top_offset(run, (int64_t)take_unsigned_leb(in), 1); break;
        case 0x0F: set_top_expression(run); break;
        case 0x10: set_rule_expression(run); break;
        case 0x12:
            set_top_register(run, take_unsigned_leb(in));
            set_top_offset(run, take_signed_leb(in), run->data_unit);
            break;
        case 0x13: set_top_offset(run, take_signed_leb(in), run->data_unit); break;
        case 0x2E: (void)take_unsigned_leb(in); break;  // how many bytes of arguments
        default: run_register(run, instruction); break;
    }
}

// Up to the row of `limit`, an address that the row does not hold for any more.
static void run_until(cfi_run* run, uint64_t limit)
{
    while (run->in.at < run->in.end && run->place < limit) {
        const uint64_t instruction = take_number(&run->in, 1);
        const uint64_t low         = instruction & 0x3F;
        switch (instruction >> 6) {
            case 1: run->place += low * run->code_unit; break;
            case 2: set_saved(run, low, (int64_t)take_unsigned_leb(&run->in)); break;
            case 3: restore_rule(run, low); break;
            default: run_other(run, instruction); break;
        }
    }
}

// ---- what the row says --------------------------------------------------------------------------

static bool is_regular_offset(int64_t offset)
{
    return offset > -EGB_CFI_OFFSET_MAX && offset < EGB_CFI_OFFSET_MAX && offset % 8 == 0;
}

static egb_cfi_frame frame_of_row(const cfi_row* row)
{
    return row->frame.kind == RULE_SAVED      ? EGB_CFI_BELOW_TOP
           : row->frame.kind == RULE_BY_FRAME ? EGB_CFI_BEHIND_FRAME
                                              : EGB_CFI_KEPT;
}

static egb_cfi_rule rule_of_row(const cfi_row* row)
{
    const egb_cfi_rule other = {EGB_CFI_OTHER, EGB_CFI_KEPT, 0, 0};
    const egb_cfi_rule last  = {EGB_CFI_LAST, EGB_CFI_KEPT, 0, 0};
    if (row->back.kind == RULE_UNDEFINED) {
        return last;
    }
    const bool is_regular = row->back.kind == RULE_SAVED && row->back.offset == -8 &&
                            row->stack.kind == RULE_NONE && row->frame.kind != RULE_OTHER &&
                            is_regular_offset(row->top_offset) &&
                            is_regular_offset(row->frame.offset);
    const egb_cfi_rule rule = {
        row->top, frame_of_row(row), (int32_t)row->top_offset, (int32_t)row->frame.offset
    };
    return is_regular ? rule : other;
}

// ---- the records of a function ------------------------------------------------------------------

typedef struct cfi_augmentation {
    unsigned encoding;  // for pointers to code
    bool     has_size;
    bool     is_signal;
} cfi_augmentation;

// The bytes of the record at `at`, behind its length; that of no bytes is the end of all.
static bytes_left record_at(const egb_cfi_module* module, const unsigned char* at)
{
    bytes_left in = {at, module->to, at < module->from || at >= module->to};
    if (in.is_bad) {
        in.at = in.end;
    }
    const uint64_t             bytes = take_number(&in, 4);
    const unsigned char* const from  = in.at;
    skip_bytes(&in, bytes);
    return (bytes_left){from, in.at, in.is_bad || bytes == 0};
}

static void take_augmentation(bytes_left* in, const char* letters, cfi_augmentation* out)
{
    out->has_size    = letters[0] == 'z';
    bytes_left parts = *in;
    if (out->has_size) {
        const uint64_t bytes = take_unsigned_leb(in);
        parts                = *in;
        skip_bytes(in, bytes);
        parts.end = in->at;
        letters++;
    }
    for (; *letters != 0 && !in->is_bad; letters++) {
        switch (out->has_size ? *letters : 0) {
            case 'L': skip_bytes(&parts, 1); break;
            case 'P': (void)take_format(&parts, (unsigned)take_number(&parts, 1)); break;
            case 'R': out->encoding = (unsigned)take_number(&parts, 1); break;
            case 'S': out->is_signal = true; break;
            default: give_up(in); break;
        }
        if (parts.is_bad) {
            give_up(in);
        }
    }
}

// The common part of records of functions. Runs its instructions. False: it is another shape.
static bool read_common(cfi_run* run, bytes_left in, cfi_augmentation* out)
{
    const uint64_t    id      = take_number(&in, 4);
    const uint64_t    version = take_number(&in, 1);
    const char* const letters = (const char*)in.at;
    while (take_number(&in, 1) != 0) {
    }
    run->code_unit        = take_unsigned_leb(&in);
    run->data_unit        = take_signed_leb(&in);
    const uint64_t column = version == 1 ? take_number(&in, 1) : take_unsigned_leb(&in);
    if (in.is_bad || id != 0 || (version != 1 && version != 3) || column != REGISTER_RETURN) {
        return false;
    }
    take_augmentation(&in, letters, out);
    run->in = in;
    run_until(run, UINT64_MAX);
    run->first = run->row;
    return !run->in.is_bad && !out->is_signal;
}

// The rule at a return address, by the record of a function at `at`.
static egb_cfi_rule
rule_by_record(const egb_cfi_module* module, const unsigned char* at, uintptr_t address)
{
    const egb_cfi_rule   other  = {EGB_CFI_OTHER, EGB_CFI_KEPT, 0, 0};
    const egb_cfi_rule   none   = {EGB_CFI_NONE, EGB_CFI_KEPT, 0, 0};
    cfi_run              run    = {.place = 0};
    cfi_augmentation     with   = {0, false, false};
    bytes_left           in     = record_at(module, at);
    const unsigned char* here   = in.at;
    const uint64_t       common = take_number(&in, 4);
    if (in.is_bad || common > (uint64_t)(here - module->from) ||
        !read_common(&run, record_at(module, here - common), &with)) {
        return other;
    }
    const uint64_t begin = take_pointer(&in, with.encoding);
    const uint64_t bytes = take_format(&in, with.encoding);
    if (with.has_size) {
        skip_bytes(&in, take_unsigned_leb(&in));
    }
    if (in.is_bad) {
        return other;
    }
    if (address <= begin || address - begin > bytes) {
        return none;  // a gap
    }
    run.in    = in;
    run.place = begin;
    run_until(&run, address);
    return run.in.is_bad ? other : rule_of_row(&run.row);
}

// ---- the table of functions ---------------------------------------------------------------------

// One of the two numbers of an entry, both relative to the header.
static uint64_t entry_number(const unsigned char* header, const unsigned char* at)
{
    int32_t number = 0;
    (void)__builtin_memcpy(&number, at, sizeof number);
    return (uint64_t)(uintptr_t)header + (uint64_t)(int64_t)number;
}

// The last entry that begins below the address. NULL: there is none.
static const unsigned char*
find_entry(const unsigned char* header, const unsigned char* table, size_t count, uintptr_t address)
{
    size_t low  = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (entry_number(header, table + middle * ENTRY_BYTES) < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? NULL : table + (low - 1) * ENTRY_BYTES;
}

// Every linker writes the table sorted, of numbers of 4 bytes relative to the header.
egb_cfi_rule egb_cfi_rule_(const egb_cfi_module* module, uintptr_t address)
{
    const egb_cfi_rule other = {EGB_CFI_OTHER, EGB_CFI_KEPT, 0, 0};
    const egb_cfi_rule none  = {EGB_CFI_NONE, EGB_CFI_KEPT, 0, 0};
    if (module->header == NULL || module->header < module->from || module->header >= module->to) {
        return other;
    }
    bytes_left     in             = {module->header, module->to, false};
    const uint64_t version        = take_number(&in, 1);
    const uint64_t frame_encoding = take_number(&in, 1);
    const uint64_t count_encoding = take_number(&in, 1);
    const uint64_t table_encoding = take_number(&in, 1);
    if (version != 1 || frame_encoding == ENCODING_OMIT || count_encoding != 0x03 ||
        table_encoding != 0x3B) {
        return other;
    }
    (void)take_format(&in, (unsigned)frame_encoding);
    const uint64_t count = take_number(&in, 4);
    if (in.is_bad || count > (uint64_t)(in.end - in.at) / ENTRY_BYTES) {
        return other;
    }
    const unsigned char* const entry = find_entry(module->header, in.at, count, address);
    if (entry == NULL) {
        return none;
    }
    const uint64_t record = entry_number(module->header, entry + 4);
    return rule_by_record(module, (const unsigned char*)(uintptr_t)record, address);
}

#endif
