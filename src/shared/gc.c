// SPDX-License-Identifier: MIT
// Files of pools that nobody has open any more.
#include "shared_private.h"

static bool is_pool(int file)
{
    egb_os_shared_file facts;
    const size_t       page  = egb_os_page_bytes_();
    const size_t       bytes = (sizeof(egb_shared_shape_) + page - 1) / page * page;
    if (egb_os_shared_look_(file, &facts) != EGB_OK || facts.bytes < bytes) {
        return false;
    }
    void* const start = egb_os_shared_map_(file, 0, bytes, false, 0);
    if (start == NULL) {
        return false;
    }
    const egb_shared_shape_ shape = *(const egb_shared_shape_*)start;
    egb_os_shared_unmap_(start, bytes);
    return egb_shared_check_shape_(&shape, facts.bytes) == EGB_OK;
}

// All bytes at once: nobody is alive, and nobody can attach until the name is gone.
bool egb_shared_remove_dead_(const char* path)
{
    int file = -1;
    if (egb_os_shared_open_(&file, path) != EGB_OK) {
        return false;
    }
    const bool is_dead = is_pool(file) &&
                         egb_os_shared_lock_(file, 0, EGB_SHARED_ATTACHMENTS_MAX) &&
                         egb_os_shared_is_named_(file, path);
    if (is_dead) {
        egb_os_remove_(path);
    }
    egb_os_shared_close_(file);
    return is_dead;
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
