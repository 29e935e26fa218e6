// SPDX-License-Identifier: MIT
// A server of packets: one thread receives, another answers, and packets go from one to the other
// in blocks of a pool. When all are on their way the receiver waits, and the network with it.
#include "eggbox/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PACKETS = 1000, BURST = 20, LIMIT = 8 };

struct packet {
    unsigned number;
    char     text[60];
};

static egb_pool packets;
static int      outside[2];  // the network: its end, and the server's
static int      inside[2];   // addresses of packets, from the receiver to the answerer

static void* receive(void* unused)
{
    for (int i = 0; i < PACKETS; i++) {
        struct packet* packet;
        while ((packet = egb_pool_alloc(packets)) == NULL) {
            sched_yield();  // all are on their way
        }
        if (recv(outside[1], packet, sizeof *packet, 0) != sizeof *packet ||
            write(inside[1], &packet, sizeof packet) != sizeof packet) {
            return NULL;
        }
    }
    return unused;
}

static void* answer(void* unused)
{
    for (int i = 0; i < PACKETS; i++) {
        struct packet* packet;
        if (read(inside[0], &packet, sizeof packet) != sizeof packet) {
            return NULL;
        }
        memcpy(packet->text, "pong", 5);
        (void)send(outside[1], packet, sizeof *packet, 0);
        egb_pool_free(packets, packet);  // another thread than the one that took it
    }
    return unused;
}

int main(void)
{
    const egb_pool_options options = {
        .name = "packets", .block_bytes = sizeof(struct packet), .max_blocks = LIMIT
    };
    pthread_t threads[2];
    if (egb_pool_create(&packets, &options) != EGB_OK ||
        socketpair(AF_UNIX, SOCK_SEQPACKET, 0, outside) != 0 || pipe(inside) != 0 ||
        pthread_create(&threads[0], NULL, receive, NULL) != 0 ||
        pthread_create(&threads[1], NULL, answer, NULL) != 0) {
        return 1;
    }
    unsigned answers = 0;
    for (unsigned i = 0; i < PACKETS; i += BURST) {
        struct packet packet = {i, "ping"};
        for (; packet.number < i + BURST; packet.number++) {
            (void)send(outside[0], &packet, sizeof packet, 0);
        }
        for (unsigned k = i; k < i + BURST; k++) {
            (void)recv(outside[0], &packet, sizeof packet, 0);
            answers += packet.number == k && strcmp(packet.text, "pong") == 0;
        }
    }
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("%u answers\n", answers);
    return egb_pool_destroy(packets, EGB_DESTROY_REFUSE) == EGB_OK ? 0 : 1;
}
