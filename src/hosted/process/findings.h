// SPDX-License-Identifier: MIT
// Room process: the part of a report about leaks, samples and misuse.
#ifndef EGGBOX_SRC_HOSTED_PROCESS_FINDINGS_H
#define EGGBOX_SRC_HOSTED_PROCESS_FINDINGS_H

#include "../report/json.h"

// The members "leaks" to "reachable", if blocks are tracked or sampled; "allocated" and "sampling",
// if blocks are sampled; "without_stack" and "events", if there are any.
void egb_report_findings_(egb_json* out);

#endif  // EGGBOX_SRC_HOSTED_PROCESS_FINDINGS_H
