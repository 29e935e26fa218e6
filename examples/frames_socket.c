// SPDX-License-Identifier: MIT
// Frames through a UNIX socket: the pool has no name, and the other process gets its descriptor and
// a frame's handle in one message. It could be in another container.
#include <eggbox/shared.h>

#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// The ancillary data of a message with one descriptor, aligned as the system wants it.
union ancillary {
    struct cmsghdr header;
    char           bytes[CMSG_SPACE(sizeof(int))];
};

static int pass(int socket, egb_frame* frame, union ancillary* extra, int is_sent)
{
    struct iovec  data    = {frame, sizeof *frame};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = extra, .msg_controllen = sizeof *extra
    };
    return (is_sent ? sendmsg(socket, &message, 0) : recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) ==
           (ssize_t)sizeof *frame;
}

// The other process: begun before there is a pool, so that it inherits none.
static int read_one(int from)
{
    union ancillary extra      = {.bytes = {0}};
    const int*      descriptor = (const int*)(void*)CMSG_DATA(&extra.header);
    egb_shared*     pool       = NULL;
    void*           block      = NULL;
    egb_frame       frame;
    if (!pass(from, &frame, &extra, 0) || extra.header.cmsg_type != SCM_RIGHTS ||
        egb_shared_attach_fd(&pool, *descriptor, EGB_SHARED_READ_ONLY) != EGB_OK ||
        egb_shared_open(pool, frame, &block) != EGB_OK) {
        return 1;
    }
    printf("read: %s\n", (const char*)block);
    egb_shared_close(pool);  // gives the frame back, too
    return close(*descriptor);
}

static egb_shared* send_one(int to)
{
    const egb_shared_options options = {.block_bytes = 1920 * 1080, .count = 4};
    union ancillary          extra   = {.bytes = {0}};
    egb_shared*              pool    = NULL;
    if (egb_shared_create(&pool, &options) == EGB_OK) {
        char* const block                      = egb_shared_alloc(pool);
        egb_frame   frame                      = egb_shared_handle(pool, block);
        extra.header.cmsg_len                  = CMSG_LEN(sizeof(int));
        extra.header.cmsg_level                = SOL_SOCKET;
        extra.header.cmsg_type                 = SCM_RIGHTS;
        *(int*)(void*)CMSG_DATA(&extra.header) = egb_shared_fd(pool);
        sprintf(block, "a frame from another process");
        (void)pass(to, &frame, &extra, 1);
    }
    return pool;
}

int main(void)
{
    int status = 1;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
        return 1;
    }
    if (fork() == 0) {
        close(ends[0]);
        return read_one(ends[1]);
    }
    egb_shared* const pool = send_one(ends[0]);
    close(ends[0]);  // without a pool the other process reads the end
    (void)wait(&status);
    egb_shared_close(pool);
    return status != 0;
}
