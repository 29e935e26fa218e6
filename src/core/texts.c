// SPDX-License-Identifier: MIT
#include "eggbox/base.h"
#include "eggbox/misuse.h"

const char* egb_status_text(egb_status status)
{
    switch (status) {
        case EGB_OK: return "ok";
        case EGB_INVALID: return "invalid argument";
        case EGB_NO_MEMORY: return "the system refused memory, or a file";
        case EGB_LIMIT: return "limit reached";
        case EGB_STALE: return "stale handle";
        case EGB_BUSY: return "in use, or not in time";
        case EGB_CORRUPT: return "overwritten, or no pool";
        case EGB_UNSUPPORTED: return "not supported here";
        case EGB_EMPTY: return "no block is free";
        case EGB_TIMED_OUT: return "no block became free in time";
        case EGB_CANCELLED: return "the wait was cancelled";
    }
    return "unknown status";
}

const char* egb_misuse_text(egb_misuse_kind kind)
{
    switch (kind) {
        case EGB_MISUSE_NO_POOL: return "use of a pool that was not initialised";
        case EGB_MISUSE_FOREIGN: return "free of a pointer that is not from this pool";
        case EGB_MISUSE_INTERIOR: return "free of a pointer into the middle of a block";
        case EGB_MISUSE_NEVER_ALLOCATED: return "free of a block that was never allocated";
        case EGB_MISUSE_DOUBLE_FREE: return "double free";
        case EGB_MISUSE_OVERWRITTEN: return "write to a freed block";
        case EGB_MISUSE_WRONG_POOL: return "free of a block of another pool";
        case EGB_MISUSE_STALE: return "use of a pool that was destroyed";
        case EGB_MISUSE_OVERRUN: return "write past the end of a block";
        case EGB_MISUSE_UNDERRUN: return "write before the start of a block";
        case EGB_MISUSE_SEALED: return "request for system memory after egb_seal()";
        case EGB_MISUSE_WRONG_SIZE: return "free with another size or alignment than requested";
    }
    return "unknown misuse";
}

const char* egb_level_text(egb_level level)
{
    switch (level) {
        case EGB_LEVEL_DEFAULT: return "default";
        case EGB_LEVEL_OFF: return "off";
        case EGB_LEVEL_CHECK: return "check";
        case EGB_LEVEL_GUARD: return "guard";
        case EGB_LEVEL_TRACK: return "track";
        case EGB_LEVEL_PASSTHROUGH: return "passthrough";
        case EGB_LEVEL_SAMPLE: return "sample";
    }
    return "unknown";
}
