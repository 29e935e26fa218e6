// SPDX-License-Identifier: MIT
// Files of pools that nobody has open any more.
#include "shared_private.h"

// Also of another version, or too large for this process.
static bool is_pool(int file)
{
    egb_shared_shape_ shape;
    const egb_status  status = egb_shared_read_shape_(file, &shape);
    return status == EGB_OK || status == EGB_LIMIT || status == EGB_UNSUPPORTED;
}

// All bytes at once: nobody is alive, and nobody can attach until the name is gone. The system may
// refuse to remove the file of another user.
bool egb_shared_remove_dead_(const char* path)
{
    int  file    = -1;
    bool is_gone = false;
    if (egb_os_shared_open_(&file, path) != EGB_OK) {
        return false;
    }
    if (is_pool(file) && egb_os_shared_lock_(file, 0, EGB_SHARED_ATTACHMENTS_MAX) &&
        egb_os_shared_is_named_(file, path)) {
        egb_os_remove_(path);
        is_gone = !egb_os_shared_is_named_(file, path);
    }
    egb_os_shared_close_(file);
    return is_gone;
}

// The bytes that its removal frees. 0: there is no such pool, or one of its attachments is alive.
static uint64_t dead_bytes(const char* path)
{
    egb_os_shared_file facts = {0};
    int                file  = -1;
    if (egb_os_shared_open_(&file, path) != EGB_OK) {
        return 0;
    }
    const bool is_dead = is_pool(file) &&
                         !egb_os_shared_is_locked_(file, 0, EGB_SHARED_ATTACHMENTS_MAX) &&
                         egb_os_shared_look_(file, &facts) == EGB_OK;
    egb_os_shared_close_(file);
    return is_dead ? facts.allocated : 0;
}

static void add_dead_bytes(const char* name, void* user)
{
    char path[sizeof((egb_shared_shape_*)NULL)->path];
    if (egb_shared_path_(path, sizeof path, name + sizeof EGB_SHARED_PREFIX_ - 1)) {
        *(uint64_t*)user += dead_bytes(path);
    }
}

bool egb_shared_make_room_(const char* path, bool is_callers, uint64_t bytes)
{
    const uint64_t room    = egb_os_shared_room_(path);
    const uint64_t missing = bytes > room ? bytes - room : 0;
    uint64_t       dead    = dead_bytes(path);
    if (dead != 0 && dead >= missing && egb_shared_remove_dead_(path)) {
        return true;
    }
    if (!is_callers) {
        dead = 0;
        egb_os_shared_each_(EGB_SHARED_FOLDER_, EGB_SHARED_PREFIX_, add_dead_bytes, &dead);
        if (dead >= missing && egb_shared_gc() != 0) {
            return true;
        }
    }
    // Another process that creates a pool may have removed the dead since.
    return egb_os_shared_room_(path) >= bytes;
}

static void remove_one(const char* name, void* user)
{
    char path[sizeof((egb_shared_shape_*)NULL)->path];
    if (egb_shared_path_(path, sizeof path, name + sizeof EGB_SHARED_PREFIX_ - 1) &&
        egb_shared_remove_dead_(path)) {
        ++*(size_t*)user;
    }
}

size_t egb_shared_gc(void)
{
    size_t removed = 0;
    if (EGB_SHARED_HAS_WORDS_) {
        egb_os_shared_each_(EGB_SHARED_FOLDER_, EGB_SHARED_PREFIX_, remove_one, &removed);
    }
    return removed;
}
