/* SPDX-License-Identifier: MIT */
/* xallocator from C alone: the program calls xalloc_init() and xalloc_destroy() itself. */
#include "xallocator.h"
#include <stdio.h>

struct Node
{
  struct Node* next;
  int value;
  char name[8];
};

int main(void)
{
  struct Node* list = NULL;
  int* numbers;
  int i, sum = 0;

  xalloc_init();
  numbers = (int*)xmalloc(100 * sizeof(int));
  for (i = 0; i < 100; i++)
    numbers[i] = i;
  for (i = 0; i < 100; i++)
    sum += numbers[i];
  printf("sum %d\n", sum);
  for (i = 0; i < 3; i++)
  {
    struct Node* node = (struct Node*)xmalloc(sizeof(struct Node));
    node->next = list;
    node->value = i;
    list = node;
  }
  while (list != NULL)
  {
    struct Node* next = list->next;
    xfree(list);
    list = next;
  }
  xfree(numbers);
  xfree(NULL);
  xalloc_stats();
  xalloc_destroy();

  printf("again\n");
  xalloc_init();
  list = (struct Node*)xmalloc(0);
  xalloc_stats();
  xfree(list);
  xalloc_destroy();
  return 0;
}
