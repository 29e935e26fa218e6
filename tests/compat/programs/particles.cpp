// SPDX-License-Identifier: MIT
// As a game of the paper's time would use its class: objects made by hand in blocks of a pool,
// which is created, destroyed, and created again with other numbers.
#include "Pool_c.h"
#include <stdio.h>
#include <new>

struct Particle
{
  Particle(float px, float py) : x(px), y(py), life(30) {}
  float x, y;
  int   life;
  char  more[20];
};

static Pool_c pool;

Particle* Spawn(float x, float y)
{
  void* p = pool.Allocate();
  return p == NULL ? NULL : new (p) Particle(x, y);
}

void Kill(Particle* p)
{
  p->~Particle();
  pool.DeAllocate(p);
}

int main()
{
  Particle* all[5];
  int alive = 0;

  pool.CreatePool(sizeof(Particle), 4);
  for (int i = 0; i < 5; i++)
  {
    all[i] = Spawn((float)i, 0);
    alive += all[i] != NULL;
  }
  printf("alive %d, %s\n", alive, all[4] == NULL ? "no room for a fifth" : "and a fifth");
  unsigned char* first = (unsigned char*)all[0];
  printf("block %u is at %d\n", pool.IndexFromAddr((unsigned char*)all[2]),
         (int)(pool.AddrFromIndex(2) - first));
  Kill(all[1]);
  all[1] = Spawn(9, 9);
  if ((unsigned char*)all[1] != first + sizeof(Particle))
    return 1;
  for (int i = 0; i < 4; i++)
    Kill(all[i]);

  pool.DestroyPool();
  if (pool.Allocate() != NULL)
    return 1;
  printf("once more, with 100 of 24 bytes\n");
  pool.CreatePool(24, 100);
  int n = 0;
  while (pool.Allocate() != NULL)
    n++;
  printf("%s\n", n == 100 ? "all of them" : "not all");
  return 0;
}
