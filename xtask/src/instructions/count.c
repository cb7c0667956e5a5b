/* A plugin of QEMU's user-mode emulator: counts the instructions that a program executes between
 * two calls of getppid, which the program makes for nothing else.
 *
 * QEMU comes without the header of its plugins where Debian packages it. Declared here is what is
 * used of the first version of that interface (qemu-plugin.h, QEMU 4.2 and later). */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(
    qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(
    struct qemu_plugin_tb *block, void (*call)(unsigned cpu, void *data), int registers, void *data);
void qemu_plugin_register_vcpu_syscall_cb(
    qemu_plugin_id_t id,
    void (*call)(qemu_plugin_id_t, unsigned cpu, int64_t number, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                 uint64_t, uint64_t, uint64_t));
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t, void *), void *data);
void qemu_plugin_outs(const char *text);

/* The number of getppid on 64-bit Arm. */
enum { GETPPID = 173, NO_REGISTERS = 0 };

int qemu_plugin_version = 1;

static bool is_counting;
static uint64_t instructions;

static void executed(unsigned cpu, void *length)
{
    (void)cpu;
    if (is_counting)
        instructions += (uintptr_t)length;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    uintptr_t length = qemu_plugin_tb_n_insns(block);
    qemu_plugin_register_vcpu_tb_exec_cb(block, executed, NO_REGISTERS, (void *)length);
}

static void called(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                   uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
    (void)id, (void)cpu, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number == GETPPID)
        is_counting = !is_counting;
}

static void ended(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    char line[32];
    snprintf(line, sizeof line, "%" PRIu64 "\n", instructions);
    qemu_plugin_outs(line);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *emulator, int words, char **arguments)
{
    (void)emulator, (void)words, (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
