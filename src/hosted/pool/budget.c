// SPDX-License-Identifier: MIT
// Budgets: what each pool and its descendants hold, and may hold at most.
#include "backing.h"
#include "registry.h"
#include "wait.h"

static bool fits(const egb_control* control, size_t bytes)
{
    return control->budget.bytes == 0 || (control->budget.held <= control->budget.bytes &&
                                          bytes <= control->budget.bytes - control->budget.held);
}

static void add(egb_control* control, size_t bytes)
{
    for (; control != NULL; control = control->tree.parent) {
        EGB_STORE_(
            control->budget.held, control->budget.held + bytes
        );  // the heap's is read without a lock
    }
}

const egb_control* egb_charge_(egb_control* control, size_t bytes)
{
    egb_os_lock_(&egb_registry_.budget_lock);
    const egb_control* one = control;
    while (one != NULL && fits(one, bytes)) {
        one = one->tree.parent;
    }
    if (one == NULL) {
        add(control, bytes);
    }
    egb_os_unlock_(&egb_registry_.budget_lock);
    return one;
}

void egb_uncharge_(egb_control* control, size_t bytes)
{
    if (control->budget.is_charged) {
        egb_os_lock_(&egb_registry_.budget_lock);
        add(control, (size_t)0 - bytes);
        egb_budgets_wake_();
        egb_os_unlock_(&egb_registry_.budget_lock);
    }
}

void egb_uncharge_all_(egb_control* control)
{
    egb_uncharge_(control, control->depot.growing.held);
    control->budget.is_charged = false;
}
