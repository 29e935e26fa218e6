// SPDX-License-Identifier: MIT
// The ports for Zephyr, ThreadX and ESP-IDF's FreeRTOS on a kernel that the test has: it does what
// the test says, and complains of each call that the real one does not allow where the port makes
// it. The ports also run as C, by the table of ports_in_c.c.
#define ESP_PLATFORM 1
#include "events.hpp"

#include "eggbox/fixed_shared.h"
#include "eggbox/port/freertos.h"
#include "eggbox/port/none.h"
#include "eggbox/port/spin.h"
#include "eggbox/port/threadx.h"
#include "eggbox/port/zephyr.h"

#include <functional>
#include <thread>

extern "C" const egb_port* egb_test_port_in_c(int number);

namespace
{

// The state that all kernels have.
struct kernel {
    unsigned              is_locked   = 0;
    int                   semaphores  = 0;
    bool                  is_aborted  = false;
    int                   reschedules = 0;
    int                   priority    = 0;
    int64_t               slept       = 0;  // the timeout of the last sleep
    std::function<void()> on_sleep    = [] {
    };  // acts for the others meanwhile
    bool is_interrupt = false;
};

kernel k;

unsigned exchange_lock(unsigned locked)
{
    const unsigned before = k.is_locked;
    k.is_locked           = locked;
    return before;
}

template <class count>
bool sleep_on(count& semaphore, int64_t timeout)
{
    EXPECT_EQ(k.is_locked, 0u) << "a sleep in a critical section";
    EXPECT_FALSE(k.is_interrupt);
    k.slept = timeout;
    k.on_sleep();
    if (semaphore == 0) {
        return false;
    }
    semaphore--;
    return true;
}

}  // namespace

// ---- the kernel as Zephyr ----------------------------------------------------------------------

unsigned irq_lock()
{
    return exchange_lock(1);
}

void irq_unlock(unsigned key)
{
    (void)exchange_lock(key);
}

int k_sem_init(k_sem* sem, unsigned initial_count, unsigned)
{
    sem->count              = initial_count;
    sem->obj_core.is_linked = true;
    k.semaphores++;
    return 0;
}

void k_obj_core_unlink(k_obj_core* core)
{
    EXPECT_TRUE(core->is_linked);
    core->is_linked = false;
    k.semaphores--;
}

int k_sem_take(k_sem* sem, k_timeout_t timeout)
{
    return sleep_on(sem->count, timeout.ticks) ? 0 : -11;
}

void k_sem_give(k_sem* sem)
{
    EXPECT_EQ(k.is_locked, 1u) << "it would change threads at once";
    sem->count++;
}

bool k_is_in_isr()
{
    return k.is_interrupt;
}

void k_sched_lock()
{
    EXPECT_FALSE(k.is_interrupt);
}

void k_sched_unlock()
{
    EXPECT_EQ(k.is_locked, 0u);
    k.reschedules++;
}

k_tid_t k_current_get()
{
    return nullptr;
}

int k_thread_priority_get(k_tid_t)
{
    return k.priority;
}

// ---- the kernel as ThreadX ---------------------------------------------------------------------

volatile UINT _tx_thread_preempt_disable;

void _tx_thread_system_preempt_check()
{
    EXPECT_EQ(_tx_thread_preempt_disable, 0u);
    EXPECT_EQ(k.is_locked, 0u);
    k.reschedules += !k.is_interrupt;
}

UINT tx_interrupt_control(UINT new_posture)
{
    return exchange_lock(new_posture);
}

UINT tx_semaphore_create(TX_SEMAPHORE* semaphore, CHAR*, ULONG initial_count)
{
    semaphore->tx_semaphore_count = initial_count;
    k.semaphores++;
    return TX_SUCCESS;
}

UINT tx_semaphore_delete(TX_SEMAPHORE*)
{
    EXPECT_NE(_tx_thread_preempt_disable, 0u) << "it would change threads at once";
    k.semaphores--;
    return TX_SUCCESS;
}

UINT tx_semaphore_get(TX_SEMAPHORE* semaphore, ULONG wait_option)
{
    const int64_t timeout = wait_option == TX_WAIT_FOREVER ? -1 : int64_t(wait_option);
    k.is_aborted          = !k.is_aborted;
    if (k.is_aborted) {  // each second sleep ends by tx_thread_wait_abort()
        return TX_WAIT_ABORTED;
    }
    return sleep_on(semaphore->tx_semaphore_count, timeout) ? TX_SUCCESS : 1u;
}

ULONG tx_time_get()
{
    return 0;
}

UINT tx_semaphore_put(TX_SEMAPHORE* semaphore)
{
    EXPECT_NE(_tx_thread_preempt_disable, 0u) << "it would change threads at once";
    EXPECT_EQ(k.is_locked, 1u);
    semaphore->tx_semaphore_count++;
    return TX_SUCCESS;
}

TX_THREAD* tx_thread_identify()
{
    static TX_THREAD self;
    self.tx_thread_priority = UINT(k.priority);
    return &self;
}

// ---- the kernel as ESP-IDF's FreeRTOS ----------------------------------------------------------

BaseType_t xPortInIsrContext()
{
    return k.is_interrupt;
}

void vPortEnterCriticalSafe(portMUX_TYPE* mux)
{
    mux->count++;
    k.is_locked = 1;
}

void vPortExitCriticalSafe(portMUX_TYPE* mux)
{
    mux->count--;
    k.is_locked = mux->count != 0;
}

void vPortYieldFromISR(BaseType_t)
{
    EXPECT_TRUE(k.is_interrupt) << "the end of the interrupt changes tasks";
}

void vPortYield()
{
    EXPECT_FALSE(k.is_interrupt);
    EXPECT_EQ(k.is_locked, 0u);
    k.reschedules++;
}

UBaseType_t uxTaskPriorityGet(TaskHandle_t)
{
    return UBaseType_t(10 - k.priority);  // its larger number is the more urgent one
}

SemaphoreHandle_t xSemaphoreCreateBinaryStatic(StaticSemaphore_t* storage)
{
    storage->count = 0;
    k.semaphores++;
    return storage;
}

BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks)
{
    return sleep_on(semaphore->count, ticks) ? pdTRUE : pdFALSE;
}

BaseType_t xSemaphoreGiveFromISR(SemaphoreHandle_t semaphore, BaseType_t*)
{
    EXPECT_EQ(k.is_locked, 1u) << "the semaphore's task may be gone";
    semaphore->count = 1;
    return pdTRUE;
}

void vSemaphoreDelete(SemaphoreHandle_t)
{
    EXPECT_EQ(k.is_locked, 1u);
    k.semaphores--;
}

// ---- tests -------------------------------------------------------------------------------------

namespace
{

class declared : public testing::TestWithParam<const egb_port*>
{
  public:
    declared()
    {
        k = kernel();
        EXPECT_EQ(egb_fixed_init(&pool, region, sizeof region, 8), EGB_OK);
        EXPECT_EQ(egb_fixed_shared_init(&shared, &pool, GetParam(), 0), EGB_OK);
        held = egb_fixed_shared_alloc(&shared);
    }

    ~declared() override
    {
        EXPECT_EQ(k.is_locked, 0u);
        EXPECT_EQ(k.semaphores, 0);
        EXPECT_TRUE(egb_fixed_shared_whole(&shared));
    }

    egb_status wait(uint32_t timeout_ms)
    {
        return egb_fixed_shared_alloc_for(&shared, &block, timeout_ms);
    }

    uint32_t         region[2]{};
    egb_fixed        pool{};
    egb_fixed_shared shared{};
    void*            held  = nullptr;
    void*            block = nullptr;
};

INSTANTIATE_TEST_SUITE_P(
    ports,
    declared,
    testing::Values(
        &egb_port_zephyr,
        &egb_port_threadx,
        &egb_port_freertos,
        egb_test_port_in_c(1),
        egb_test_port_in_c(2),
        egb_test_port_in_c(3)
    )
);

}  // namespace

TEST_P(declared, critical_sections_nest)
{
    const egb_port* const port  = GetParam();
    const uintptr_t       outer = port->enter(port);
    const uintptr_t       inner = port->enter(port);
    EXPECT_EQ(k.is_locked, 1u);
    port->leave(port, inner);
    EXPECT_EQ(k.is_locked, 1u);
    port->leave(port, outer);
    EXPECT_EQ(k.is_locked, 0u);
}

TEST_P(declared, a_thread_that_waits_gets_the_block_and_the_processor)
{
    k.on_sleep = [&] {
        egb_fixed_shared_free(&shared, held);
        EXPECT_EQ(k.reschedules, 1);
    };
    EXPECT_EQ(wait(EGB_FOREVER), EGB_OK);
    EXPECT_EQ(block, held);
    EXPECT_TRUE(k.slept == -1 || k.slept >= 49 * 24 * 3600 * 100)
        << "without an end, or 49 days again and again";
}

TEST_P(declared, an_interrupt_that_frees_does_not_reschedule)
{
    k.on_sleep = [&] {
        k.is_interrupt = true;
        egb_fixed_shared_free(&shared, held);
        EXPECT_EQ(k.reschedules, 0);
        k.is_interrupt = false;
    };
    EXPECT_EQ(wait(20), EGB_OK);
}

TEST_P(declared, time_is_over_or_the_wait_is_cancelled)
{
    EXPECT_EQ(wait(20), EGB_TIMED_OUT);
    EXPECT_GE(k.slept, 3) << "20 ms are 2 ticks of ThreadX, and the first may be nearly over";
    EXPECT_EQ(wait(EGB_FOREVER - 1), EGB_TIMED_OUT);
    EXPECT_NE(k.slept, -1) << "a long time is not for ever";
    k.on_sleep = [&] {
        EXPECT_EQ(egb_fixed_shared_cancel(&shared), 1u);
    };
    EXPECT_EQ(wait(20), EGB_CANCELLED);
    EXPECT_EQ(k.reschedules, 1);
}

TEST_P(declared, the_more_urgent_thread_is_served_first)
{
    const egb_port* const port = GetParam();
    k.priority                 = 3;
    const uint32_t later       = port->priority(port);
    k.priority                 = 2;
    EXPECT_GT(port->priority(port), later) << "the smaller number is the more urgent one";
}

TEST(declared_zephyr, cooperative_priorities_come_before_others)
{
    k.priority            = -1;
    const uint32_t urgent = egb_port_zephyr.priority(&egb_port_zephyr);
    k.priority            = 0;
    EXPECT_GT(urgent, egb_port_zephyr.priority(&egb_port_zephyr));
}

TEST(port_none, serves_a_pool_of_one_thread)
{
    egb_fixed        pool{};
    egb_fixed_shared shared{};
    uint32_t         region[4];
    ASSERT_EQ(egb_fixed_init(&pool, region, sizeof region, 8), EGB_OK);
    ASSERT_EQ(egb_fixed_shared_init(&shared, &pool, egb_test_port_in_c(0), 1), EGB_OK);
    void* const block = egb_fixed_shared_alloc(&shared);
    EXPECT_NE(block, nullptr);
    EXPECT_EQ(egb_fixed_shared_alloc(&shared), nullptr);
    egb_fixed_shared_free(&shared, block);
    EXPECT_TRUE(egb_fixed_shared_whole(&shared));
}

namespace
{

thread_local uint32_t core_number;

egb_spin_port both_cores = EGB_PORT_SPIN(&egb_port_none, [] { return core_number; });

}  // namespace

// Threads are the cores.
TEST(port_spin, two_cores_share_a_pool)
{
    enum { rounds = 3000 };
    events           misuse;
    egb_fixed        pool{};
    egb_fixed_shared shared{};
    uint32_t         region[6] = {};
    ASSERT_EQ(egb_fixed_init(&pool, region, sizeof region, 8), EGB_OK);
    ASSERT_EQ(egb_fixed_shared_init(&shared, &pool, &both_cores.port, 0), EGB_OK);
    const auto run = [&](uint32_t core) {
        core_number = core;
        for (int i = 0; i < rounds; i++) {
            const uintptr_t outer = both_cores.port.enter(&both_cores.port);
            void* const     block = egb_fixed_shared_alloc(&shared);
            both_cores.port.leave(&both_cores.port, outer);
            static_cast<uint32_t*>(block)[0] = core;
            egb_fixed_shared_free(&shared, block);
        }
    };
    std::thread other(run, 1);
    run(0);
    other.join();
    EXPECT_EQ(both_cores.owner, 0u);
    EXPECT_EQ(both_cores.depth, 0u);
    EXPECT_EQ(egb_fixed_shared_in_use(&shared), 0u);
    EXPECT_TRUE(egb_fixed_shared_whole(&shared));
}
