// SPDX-License-Identifier: MIT
// Misuse of pools as events for the handler.
#include "events.h"

#include "../region/obtain.h"
#include "../report/text.h"
#include "../settings/settings.h"
#include "../stacks/stacks.h"
#include "eggbox/guard.h"
#include "layout.h"
#include "registry.h"

const void* egb_pool_site_(egb_pool pool, const void* site)
{
    const egb_control* const control = egb_control_of_(pool);
    const bool is_tracked = control != NULL && EGB_LOAD_(control->level) == EGB_LEVEL_TRACK;
    return is_tracked ? egb_stack_here_(site) : site;
}

// The event is complete but for what the pool knows of itself, and of the block.
static void report_event(egb_misuse_event event, egb_pool pool, egb_history* history)
{
    char               name[EGB_NAME_BYTES] = "";
    egb_control* const control              = egb_pool_lock_(pool);
    if (control == NULL) {
        history->level = egb_level_of_no_pool_();
    } else {
        history->level = control->level;
        if (event.block_index != EGB_NO_INDEX && history->bytes == 0) {
            *history = control->layout->history(control, event.address);
        }
        egb_text_copy_(name, sizeof name, control->name);
        event.pool      = control;
        event.pool_name = name;
        egb_pool_unlock_(control);
    }
    const bool is_known = history->bytes != 0;  // a large block with a guard page, at any level
    event.history       = egb_level_has_magazines_(history->level) && !is_known ? NULL : history;
    egb_misuse(&event);
}

static egb_misuse_event
event_of(egb_misuse_kind kind, const void* address, size_t index, const void* site)
{
    const egb_misuse_event event = {
        .kind        = kind,
        .address     = address,
        .block_index = index,
        .site        = egb_site_address_(site),
        .stack       = egb_site_stack_(site)
    };
    return event;
}

void egb_pool_report_(
    egb_misuse_kind kind, egb_pool pool, const void* address, size_t index, const void* site
)
{
    const egb_misuse_event event   = event_of(kind, address, index, site);
    egb_history            history = {.level = EGB_LEVEL_CHECK};
    report_event(event, pool, &history);
}

void egb_pool_report_finding_(egb_pool pool, const egb_finding* finding, const void* site)
{
    const egb_misuse_kind  kind    = (egb_misuse_kind)finding->kind;
    const egb_misuse_event event   = event_of(kind, finding->block, finding->index, site);
    egb_history            history = finding->history;
    report_event(event, pool, &history);
}

void egb_pool_unlock_and_report_(egb_control* control, egb_pool pool, const void* site)
{
    if (!control->depot.damage.was_found && control->redzones == NULL) {
        egb_pool_unlock_(control);
        return;
    }
    const egb_damage  damage        = control->depot.damage;
    const egb_finding finding       = control->layout->take_finding(control);
    control->depot.damage.was_found = false;
    egb_pool_unlock_(control);
    if (damage.was_found) {
        egb_pool_report_(EGB_MISUSE_OVERWRITTEN, pool, damage.address, damage.index, site);
    }
    if (finding.kind != 0) {
        egb_pool_report_finding_(pool, &finding, site);
    }
}

void egb_pool_report_handle_(egb_pool pool, const void* block, const void* site)
{
    const egb_misuse_kind kind = egb_is_null_(pool) ? EGB_MISUSE_NO_POOL : EGB_MISUSE_STALE;
    egb_pool_report_(kind, pool, block, EGB_NO_INDEX, egb_stack_here_(site));
}

// ---- the freeze ---------------------------------------------------------------------------------

void egb_freeze_report_(egb_pool pool, const void* site)
{
    if (egb_freeze_take_refusal_()) {
        egb_pool_report_(EGB_MISUSE_SEALED, pool, NULL, EGB_NO_INDEX, site);
    }
}

void egb_seal(void)
{
    egb_freeze_(true);
}

void egb_unseal(void)
{
    const egb_pool none = {0, 0};
    egb_freeze_(false);
    egb_freeze_report_(none, EGB_CALLER());
}
