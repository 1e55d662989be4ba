/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of a job: while it waits, its memory, and its start and end. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "exchange.h"

double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

Result idle(int seconds) {
    char* buffer = net_allocate(8);
    int others = net_size() - 1;
    int count = net_rank() == 0 ? others : 1;
    Message* messages = allocate_or_die(sizeof *messages * (size_t)(count + 1));
    for (int i = 0; i < count; i++) {
        Message m = {buffer, 8, net_rank() == 0 ? i + 1 : 0, -1, 0, net_rank() == 0};
        messages[i] = m;
    }
    int way = net_ways() - 1;
    Group* group = net_group(messages, count, way);
    net_barrier();
    double cpu = cpu_seconds(), start = now();
    if (net_rank() == 0) {
        struct timespec t = {seconds, 0};
        nanosleep(&t, NULL);
    }
    double mine = net_rank() == 0 ? cpu_seconds() - cpu : 0;
    net_group_start(group);
    net_group_wait(group);
    if (net_rank() != 0) mine = cpu_seconds() - cpu;
    double elapsed = now() - start;
    double share = net_sum(mine) / net_maximum(elapsed) * 100;
    net_release(group);
    free(messages);
    net_free(buffer);
    Result r = {{share, share}, ""};
    snprintf(r.way, sizeof r.way, "%s", net_way_name(way));
    return r;
}

/* Proportional set size of this process in MiB: shared pages count in proportion. */
static double resident_share(void) {
    FILE* f = fopen("/proc/self/smaps_rollup", "r");
    if (!f) net_abort("/proc/self/smaps_rollup cannot be read");
    char line[256];
    double kib = -1;
    while (fgets(line, sizeof line, f)) sscanf(line, "Pss: %lf", &kib);
    fclose(f);
    if (kib < 0) net_abort("/proc/self/smaps_rollup has no Pss line");
    return kib / 1024;
}

Result memory(int bytes) {
    size_t sizes[2] = {8, (size_t)bytes};
    char* out = net_allocate((size_t)bytes);
    char* in = net_allocate((size_t)bytes);
    memset(out, 1, (size_t)bytes);
    int way = net_ways() - 1, n = net_size();
    for (int s = 0; s < 2; s++)
        for (int step = 1; step < n; step++) {
            Message messages[2] = {{in, sizes[s], (net_rank() - step + n) % n, -1, 0, 0},
                                   {out, sizes[s], (net_rank() + step) % n, -1, 0, 1}};
            Group* group = net_group(messages, 2, way);
            net_group_start(group);
            net_group_wait(group);
            net_release(group);
        }
    net_barrier();
    double mine = resident_share();
    net_barrier();
    double share = net_sum(mine) / n;
    net_free(in);
    net_free(out);
    Result r = {{share, net_maximum(mine)}, ""};
    snprintf(r.way, sizeof r.way, "%s", net_way_name(way));
    return r;
}

Result nothing(int unused) {
    (void)unused;
    net_barrier();
    Result r = {{0, 0}, "none"};
    return r;
}
