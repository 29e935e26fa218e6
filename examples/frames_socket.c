// SPDX-License-Identifier: MIT
// Frames through a UNIX socket: the pool has no name, and the other process gets its descriptor and
// a frame's handle in one message. It could be in another container.
#include <eggbox/shared.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// The ancillary data of a message with one descriptor, aligned as the system wants it.
union ancillary {
    struct cmsghdr header;
    char           bytes[CMSG_SPACE(sizeof(int))];
};

static int send_frame(int to, int descriptor, egb_frame frame)
{
    union ancillary extra   = {.bytes = {0}};
    struct iovec    data    = {&frame, sizeof frame};
    struct msghdr   message = {
          .msg_iov        = &data,
          .msg_iovlen     = 1,
          .msg_control    = &extra,
          .msg_controllen = sizeof extra.bytes
    };
    struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level           = SOL_SOCKET;
    header->cmsg_type            = SCM_RIGHTS;
    header->cmsg_len             = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(to, &message, 0) == (ssize_t)sizeof frame;
}

static int receive_frame(int from, int* descriptor, egb_frame* frame)
{
    union ancillary extra;
    struct iovec    data    = {frame, sizeof *frame};
    struct msghdr   message = {
          .msg_iov        = &data,
          .msg_iovlen     = 1,
          .msg_control    = &extra,
          .msg_controllen = sizeof extra.bytes
    };
    const ssize_t               bytes  = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (bytes != (ssize_t)sizeof *frame || header == NULL || header->cmsg_type != SCM_RIGHTS) {
        return 0;
    }
    memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
    return 1;
}

// The other process: begun before there is a pool, so that it inherits none.
static int read_one(int from)
{
    egb_shared* pool       = NULL;
    void*       block      = NULL;
    int         descriptor = -1;
    egb_frame   frame;
    if (!receive_frame(from, &descriptor, &frame) ||
        egb_shared_attach_fd(&pool, descriptor, EGB_SHARED_READ_ONLY) != EGB_OK ||
        egb_shared_open(pool, frame, &block) != EGB_OK) {
        return 1;
    }
    printf("read: %s\n", (const char*)block);
    egb_shared_close(pool);  // gives the frame back, too
    return close(descriptor);
}

int main(void)
{
    const egb_shared_options options = {.block_bytes = 1920 * 1080, .count = 4};
    egb_shared*              pool    = NULL;
    int                      ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
        return 1;
    }
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        return read_one(ends[1]);
    }
    char* const block =
        egb_shared_create(&pool, &options) == EGB_OK ? egb_shared_alloc(pool) : NULL;
    int status = 1;
    if (block != NULL) {
        strcpy(block, "a frame from another process");
        (void)send_frame(ends[0], egb_shared_fd(pool), egb_shared_handle(pool, block));
    }
    close(ends[0]);
    close(ends[1]);
    (void)waitpid(child, &status, 0);
    egb_shared_close(pool);
    return status != 0;
}
