// SPDX-License-Identifier: MIT
// A program that uses eggbox and GNU readline. Readline has an xmalloc() and an xfree() of its own,
// and passes their blocks to free(). When eggbox exported these names, readline called eggbox's
// functions, and the program aborted.
#include "eggbox/heap.h"
#include "eggbox/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/history.h>
#include <readline/readline.h>

static int failures;

static void check(int truth, const char* what)
{
    if (!truth) {
        (void)printf("not so: %s\n", what);
        failures++;
    }
}

// Readline allocates entries and the expanded line with xmalloc(); the caller frees the line.
static void use_history(void)
{
    char* line = NULL;
    using_history();
    add_history("make test");
    add_history("make bench");
    check(history_expand("!!", &line) == 1 && strcmp(line, "make bench") == 0, "!! is expanded");
    free(line);
    HIST_ENTRY* const first = remove_history(0);
    check(first != NULL && strcmp(first->line, "make test") == 0, "the first entry is removed");
    free(free_history_entry(first));
    clear_history();
}

// Readline calls this for each word that fits, and frees the words that it does not return.
static char* next_word(const char* text, int state)
{
    static const char* const words[] = {"block", "blocks", "pool"};
    static size_t            next;
    next = state == 0 ? 0 : next;
    while (next < sizeof words / sizeof *words) {
        const char* const word = words[next++];
        if (strncmp(word, text, strlen(text)) == 0) {
            char* const copy = malloc(strlen(word) + 1);
            return copy == NULL ? NULL : strcpy(copy, word);
        }
    }
    return NULL;
}

static void use_completion(void)
{
    char** const matches = rl_completion_matches("bl", next_word);
    check(matches != NULL && strcmp(matches[0], "block") == 0, "the common start is found");
    for (size_t i = 0; matches != NULL && matches[i] != NULL; i++) {
        free(matches[i]);
    }
    free(matches);
}

// Reads two lines. The second one has a key to delete a letter, and one to complete a word.
static void use_readline(FILE* keys, FILE* screen)
{
    rl_instream                  = keys;
    rl_outstream                 = screen;
    rl_completion_entry_function = next_word;
    char* const first            = readline("> ");
    check(first != NULL && strcmp(first, "alloc 16") == 0, "the first line is read");
    free(first);
    char* const second = readline("> ");
    check(second != NULL && strcmp(second, "free pool ") == 0, "the second line is completed");
    free(second);
    check(readline("> ") == NULL, "then there is no line");
}

int main(void)
{
    const egb_pool_options options = {.block_bytes = 32};
    egb_pool               pool;
    FILE* const            keys   = tmpfile();
    FILE* const            screen = tmpfile();
    if (keys == NULL || screen == NULL || egb_pool_create(&pool, &options) != EGB_OK) {
        return 2;
    }
    void* const block = egb_pool_alloc(pool);
    void* const other = egb_malloc(1000);
    (void)fputs("alloc 16\nfree po\bo\t\n", keys);
    rewind(keys);
    use_history();
    use_completion();
    use_readline(keys, screen);
    check(egb_pool_of(block).slot == pool.slot, "the block is of its pool");
    egb_free(other);
    egb_pool_free(pool, block);
    check(egb_pool_destroy(pool, EGB_DESTROY_REFUSE) == EGB_OK, "the pool is empty");
    (void)fclose(keys);
    (void)fclose(screen);
    return failures == 0 ? 0 : 1;
}
