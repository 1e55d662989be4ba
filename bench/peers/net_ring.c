/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h over bare packet sockets: one Ethernet frame per message, sent by one call and received by
 * reading the status words of a mapped ring. No numbers, acknowledgements, credits or checks: the
 * lower bound of the cost of messages without the IP stack. Only for short messages on a cable that
 * loses none, with fewer in transit than the ring holds. Neighbours only; bare.h describes how they
 * find each other. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bare.h"

enum {
    type = 0x88b6, /* the second type for local experiments; torusmp uses the first */
    head = 14 + 2, /* Ethernet header and message length; short frames are padded */
    most_bytes = 1400,
    room = 2048, /* size of a frame in the ring */
    frames = 1024,
    most_queued = 256
};

typedef struct {
    Message* message;
    Group* group;
} Awaited;

typedef struct {
    int socket;
    char* ring;
    unsigned next;
    Awaited awaited[most_queued];
    unsigned first, count;
} Link;

static Link links[most_links];

static void open_ring(Link* l, const char* device) {
    struct tpacket_req ring = {64 * room, frames * room / (64 * room), room, frames};
    struct sockaddr_ll where = {0};
    int version = TPACKET_V2;
    where.sll_family = AF_PACKET;
    where.sll_protocol = htons(type);
    where.sll_ifindex = (int)if_nametoindex(device);
    l->socket = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (l->socket < 0 ||
        setsockopt(l->socket, SOL_PACKET, PACKET_VERSION, &version, sizeof version) ||
        setsockopt(l->socket, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) ||
        bind(l->socket, (struct sockaddr*)&where, sizeof where))
        bare_die(device);
    l->ring = mmap(NULL, frames * room, PROT_READ | PROT_WRITE, MAP_SHARED, l->socket, 0);
    if (l->ring == MAP_FAILED) bare_die("mmap");
}

void net_start(int* argc, char*** argv) {
    (void)argc;
    (void)argv;
    bare_start();
    for (int i = 0; i < link_count; i++) open_ring(&links[i], planned[i].device);
    net_barrier();
}

Group* net_group(const Message* messages, int count, int way) {
    (void)way;
    for (int i = 0; i < count; i++)
        if (messages[i].bytes > most_bytes) net_abort("the message is too long for a frame");
    return bare_group(messages, count);
}

static void send_frame(Link* l, const Message* m) {
    char frame[head + most_bytes];
    unsigned short length = (unsigned short)m->bytes;
    memset(frame, 0xff, 12); /* broadcast: there is only one station */
    frame[12] = (char)(type >> 8);
    frame[13] = (char)type;
    memcpy(frame + 14, &length, sizeof length);
    memcpy(frame + head, m->buffer, m->bytes);
    while (send(l->socket, frame, head + m->bytes, 0) < 0)
        if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) bare_die("send");
}

/* Takes only the awaited frame; the others stay in the ring. */
static int receive_some(Link* l) {
    int taken = 0;
    while (l->count > 0) {
        struct tpacket2_hdr* h = (struct tpacket2_hdr*)(l->ring + l->next % frames * room);
        if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) break;
        Awaited* it = &l->awaited[l->first];
        unsigned short length;
        const char* frame = (const char*)h + h->tp_mac;
        memcpy(&length, frame + 14, sizeof length);
        if (length != it->message->bytes) net_abort("a frame of another length arrived");
        memcpy(it->message->buffer, frame + head, length);
        __atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        l->next++;
        it->group->open--;
        l->first = (l->first + 1) % most_queued;
        l->count--;
        taken++;
    }
    return taken;
}

void net_group_start(Group* group) {
    group->open = 0;
    for (int i = 0; i < group->count; i++) {
        Message* m = &group->messages[i];
        Link* l = &links[bare_link_for(m)];
        if (m->sending) {
            send_frame(l, m);
            continue;
        }
        if (l->count == most_queued) net_abort("too many messages at a time");
        Awaited it = {m, group};
        l->awaited[(l->first + l->count++) % most_queued] = it;
        group->open++;
    }
}

void net_group_wait(Group* group) {
    while (group->open > 0) {
        int taken = 0;
        for (int i = 0; i < link_count; i++) taken += receive_some(&links[i]);
        if (taken || !oversubscribed) continue;
        struct pollfd wanted[most_links];
        for (int i = 0; i < link_count; i++) {
            wanted[i].fd = links[i].socket;
            wanted[i].events = POLLIN;
        }
        poll(wanted, (nfds_t)link_count, 1000);
    }
}

const char* net_library(void) {
    return "bare packet rings";
}
