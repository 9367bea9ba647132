/* SPDX-License-Identifier: EPL-2.0 */
/* QEMU plugin (API version 1, user mode): instructions executed, per function of the program.
 *   qemu-riscv64 -plugin instructions.so,out=FILE PROGRAM
 * writes one line per function: instructions, vector instructions, vector cycles, name, separated by tabs.
 *
 * Vector cycles are those of a unit that takes one register of a register group per cycle: an instruction on four
 * registers (LMUL 4) counts four. Zero for other architectures than RISC-V.
 *
 * Which register group an instruction works on depends on the vset instruction before it, maybe in another block of
 * code. So blocks are counted separately for every setting that they are entered with.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* QEMU's header comes only with its sources: this is the part of it that is used here. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct {
    const char* target_name;
} qemu_info_t; /* begins like qemu_plugin_info_t */
typedef void (*translated_t)(qemu_plugin_id_t, struct qemu_plugin_tb*);
typedef void (*executed_t)(unsigned, void*);
typedef void (*finished_t)(qemu_plugin_id_t, void*);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_t);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, int operation, void*, uint64_t);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb*, executed_t, int flags, void*);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, finished_t, void*);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn*);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn*);
const char* qemu_plugin_insn_symbol(const struct qemu_plugin_insn*);

EXPORTED int qemu_plugin_version = 1;

enum { INLINE_ADD = 0 };

/* vtype without its upper bits: element width in bits 5..3, register group in bits 2..0. */
enum { SETTINGS = 64, KEEPS = -1 };

typedef struct Block {
    struct Block* next;
    const char* function;
    size_t count;
    uint32_t* words;         /* instructions; 0 for those of two bytes */
    int leaves_with;         /* setting after the block, or KEEPS */
    uint64_t runs[SETTINGS]; /* by the setting on entry; all in the first where there is no vector instruction */
} Block;

typedef struct {
    const char* function;
    uint64_t instructions, vector, cycles;
} Row;

static Block* blocks;
static unsigned setting;
static int riscv;
static const char* output;

/* ---- RISC-V vector instructions ---------------------------------------------------------------------------------- */

enum { LOAD = 0x07, STORE = 0x27, ARITHMETIC = 0x57 };

static unsigned bits(uint32_t word, unsigned low, unsigned width) {
    return word >> low & ((1U << width) - 1);
}

static int is_vector_memory(uint32_t word) {
    const unsigned width = bits(word, 12, 3); /* 1 to 4 are the scalar floats */
    return (bits(word, 0, 7) == LOAD || bits(word, 0, 7) == STORE) && (width == 0 || width >= 5);
}

static int is_vset(uint32_t word) {
    return bits(word, 0, 7) == ARITHMETIC && bits(word, 12, 3) == 7;
}

/* Setting that a vset instruction makes; KEEPS when a register says it. */
static int setting_of(uint32_t word) {
    return bits(word, 31, 1) == 0 || bits(word, 30, 2) == 3 ? (int)bits(word, 20, 6) : KEEPS;
}

/* Eighths of a register that a group of this setting has: LMUL 1/8 is 1, LMUL 8 is 64. */
static unsigned group_eighths(unsigned vtype) {
    const unsigned lmul = vtype & 7;
    return lmul < 4 ? 8U << lmul : 8U >> (8 - lmul);
}

static unsigned registers(unsigned eighths) {
    return eighths < 8 ? 1 : eighths / 8;
}

/* Registers that a vector instruction goes through. */
static unsigned cycles_of(uint32_t word, unsigned vtype) {
    if (is_vector_memory(word)) {
        const unsigned fields = bits(word, 29, 3) + 1;
        const int whole_registers = bits(word, 26, 2) == 0 && bits(word, 20, 5) == 8;
        if (whole_registers) {
            return fields;
        }
        const unsigned width = bits(word, 12, 3);
        const unsigned element = width == 0 ? 8 : 8U << (width - 4);
        return fields * registers(group_eighths(vtype) * element / (8U << (vtype >> 3)));
    }
    /* Moves between a scalar register and the first element. */
    const unsigned category = bits(word, 12, 3);
    if (bits(word, 26, 6) == 0x10 && (category == 1 || category == 2 || category == 5 || category == 6)) {
        return 1;
    }
    return registers(group_eighths(vtype));
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static void executed(unsigned cpu, void* data) {
    Block* const block = data;
    (void)cpu;
    ++block->runs[setting];
    if (block->leaves_with != KEEPS) {
        setting = (unsigned)block->leaves_with;
    }
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* tb) {
    Block* const block = calloc(1, sizeof *block);
    int vector = 0;
    (void)id;
    block->next = blocks;
    block->count = qemu_plugin_tb_n_insns(tb);
    block->words = calloc(block->count, sizeof *block->words);
    block->leaves_with = KEEPS;
    for (size_t i = 0; i < block->count; ++i) {
        const struct qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(tb, i);
        if (i == 0) {
            block->function = qemu_plugin_insn_symbol(instruction);
        }
        if (riscv && qemu_plugin_insn_size(instruction) == sizeof *block->words) {
            memcpy(&block->words[i], qemu_plugin_insn_data(instruction), sizeof *block->words);
            vector |= is_vector_memory(block->words[i]) || bits(block->words[i], 0, 7) == ARITHMETIC;
            if (is_vset(block->words[i]) && setting_of(block->words[i]) != KEEPS) {
                block->leaves_with = setting_of(block->words[i]);
            }
        }
    }
    blocks = block;
    if (vector) {
        qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, block);
    } else {
        qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD, &block->runs[0], 1);
    }
}

static void add(Row* row, const Block* block) {
    for (unsigned entered = 0; entered < SETTINGS; ++entered) {
        unsigned vtype = entered;
        for (size_t i = 0; block->runs[entered] != 0 && i < block->count; ++i) {
            const uint32_t word = block->words[i];
            row->instructions += block->runs[entered];
            if (is_vset(word)) {
                vtype = setting_of(word) == KEEPS ? vtype : (unsigned)setting_of(word);
            } else if (is_vector_memory(word) || bits(word, 0, 7) == ARITHMETIC) {
                row->vector += block->runs[entered];
                row->cycles += block->runs[entered] * cycles_of(word, vtype);
            }
        }
    }
}

static int by_function(const void* a, const void* b) {
    return strcmp((*(Block* const*)a)->function, (*(Block* const*)b)->function);
}

static void finished(qemu_plugin_id_t id, void* data) {
    FILE* const file = fopen(output, "w");
    size_t count = 0;
    (void)id;
    (void)data;
    if (file == NULL) {
        perror(output);
        return;
    }
    for (Block* block = blocks; block != NULL; block = block->next) {
        block->function = block->function == NULL ? "?" : block->function;
        ++count;
    }
    Block** const sorted = calloc(count + 1, sizeof *sorted);
    count = 0;
    for (Block* block = blocks; block != NULL; block = block->next) {
        sorted[count++] = block;
    }
    qsort(sorted, count, sizeof *sorted, by_function);
    for (size_t i = 0; i < count;) {
        Row row = {sorted[i]->function, 0, 0, 0};
        for (; i < count && strcmp(sorted[i]->function, row.function) == 0; ++i) {
            add(&row, sorted[i]);
        }
        fprintf(file, "%llu\t%llu\t%llu\t%s\n", (unsigned long long)row.instructions, (unsigned long long)row.vector,
                (unsigned long long)row.cycles, row.function);
    }
    fclose(file);
}

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
    for (int i = 0; i < argc; ++i) {
        if (strncmp(argv[i], "out=", 4) == 0) {
            output = argv[i] + 4;
        }
    }
    if (output == NULL) {
        fputs("instructions: say where to write with out=FILE\n", stderr);
        return 1;
    }
    riscv = strncmp(info->target_name, "riscv", 5) == 0;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finished, NULL);
    return 0;
}
