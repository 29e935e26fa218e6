// SPDX-License-Identifier: MIT
// A look at a pool from outside: no attachment, and nothing is written.
#include "shared_private.h"

// A pool as the questions of ask.c need it: a copy of the control part, and a file whose locks can
// be asked for. A map would be a signal at a hole of the file where there is no memory for it.
static egb_status copy_control(egb_shared* out, int file)
{
    const egb_status status = egb_shared_read_shape_(file, &out->shape);
    if (status != EGB_OK) {
        return status;
    }
    const size_t bytes   = (size_t)out->shape.payload_at;
    char* const  control = egb_shared_own_memory_(bytes);
    if (control == NULL) {
        return EGB_NO_MEMORY;
    }
    if (!egb_os_shared_read_(file, control, bytes)) {
        egb_os_release_(control, bytes);
        return EGB_CORRUPT;
    }
    out->state     = (egb_shared_state_*)(void*)control;
    out->blocks    = (egb_shared_block_*)(void*)(control + out->shape.blocks_at);
    out->count     = (size_t)out->shape.count;
    out->lock_file = file;
    out->slot      = EGB_SHARED_ATTACHMENTS_MAX;
    return EGB_OK;
}

static void visit_all(
    const egb_shared* seen, void (*visit)(const egb_shared_attachment* one, void* user), void* user
)
{
    for (unsigned slot = 0; slot < EGB_SHARED_ATTACHMENTS_MAX; slot++) {
        egb_shared_attachment one;
        if (egb_shared_show_(seen, slot, &one)) {
            visit(&one, user);
        }
    }
}

egb_status egb_shared_look(
    const char*         name,
    egb_shared_numbers* out,
    void (*visit)(const egb_shared_attachment* one, void* user),
    void* user
)
{
    char       path[sizeof((egb_shared_shape_*)NULL)->path];
    egb_shared seen = {0};
    int        file = -1;
    if (name == NULL || out == NULL || !egb_shared_path_(path, sizeof path, name)) {
        return EGB_INVALID;
    }
    if (!EGB_SHARED_HAS_WORDS_ || !egb_os_has_shared_()) {
        return EGB_UNSUPPORTED;
    }
    egb_status status = egb_os_shared_open_(&file, path);
    if (status != EGB_OK) {
        return status;
    }
    status = copy_control(&seen, file);
    if (status == EGB_OK) {
        *out = egb_shared_numbers_of_(&seen);
        if (visit != NULL) {
            visit_all(&seen, visit, user);
        }
        egb_os_release_(seen.state, (size_t)seen.shape.payload_at);
    }
    egb_os_shared_close_(file);
    return status;
}
