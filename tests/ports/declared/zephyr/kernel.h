// SPDX-License-Identifier: MIT
// The part of Zephyr's kernel that the port uses, declared by us from its documentation: its
// sources are in no registry that the tests can use. test_declared.cpp has a kernel of it.
#ifndef EGGBOX_TESTS_PORTS_ZEPHYR_KERNEL_H
#define EGGBOX_TESTS_PORTS_ZEPHYR_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct k_timeout_t {
    int64_t ticks;
} k_timeout_t;

// The options of the program's kernel: it keeps lists of its objects, for tools.
#define CONFIG_OBJ_CORE     1
#define CONFIG_OBJ_CORE_SEM 1

struct k_obj_core {
    bool is_linked;
};

struct k_sem {
    unsigned int      count;
    struct k_obj_core obj_core;
};

#define K_OBJ_CORE(object) (&(object)->obj_core)

typedef struct k_thread* k_tid_t;

#if defined(__cplusplus)
  #define K_FOREVER  (k_timeout_t{-1})
  #define K_MSEC(ms) (k_timeout_t{(int64_t)(ms)})
#else
  #define K_FOREVER  ((k_timeout_t){-1})
  #define K_MSEC(ms) ((k_timeout_t){(int64_t)(ms)})
#endif

unsigned int irq_lock(void);
void         irq_unlock(unsigned int key);
int          k_sem_init(struct k_sem* sem, unsigned int initial_count, unsigned int limit);
int          k_sem_take(struct k_sem* sem, k_timeout_t timeout);
void         k_sem_give(struct k_sem* sem);
void         k_obj_core_unlink(struct k_obj_core* core);
bool         k_is_in_isr(void);
void         k_sched_lock(void);
void         k_sched_unlock(void);
k_tid_t      k_current_get(void);
int          k_thread_priority_get(k_tid_t thread);

#if defined(__cplusplus)
}
#endif

#endif  // EGGBOX_TESTS_PORTS_ZEPHYR_KERNEL_H
