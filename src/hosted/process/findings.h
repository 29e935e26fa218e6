// SPDX-License-Identifier: MIT
// Room process: the part of a report about leaks and misuse.
#ifndef EGGBOX_SRC_HOSTED_PROCESS_FINDINGS_H
#define EGGBOX_SRC_HOSTED_PROCESS_FINDINGS_H

#include "../report/json.h"

// The members "leaks", if blocks are tracked, and "events".
void egb_report_findings_(egb_json* out);

#endif  // EGGBOX_SRC_HOSTED_PROCESS_FINDINGS_H
