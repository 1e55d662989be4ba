/* SPDX-License-Identifier: BSD-3-Clause */
/* The tools interface before MPI_Init, while MPI runs, and after MPI_Finalize; on any number of
 * processes. */
#include "cases.h"

static MPI_T_pvar_session session;

static int cvar(const char* name) {
    int index = -1;
    CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    return index;
}

static MPI_T_cvar_handle cvar_handle(const char* name) {
    MPI_T_cvar_handle handle;
    int count;
    CHECK(MPI_T_cvar_handle_alloc(cvar(name), NULL, &handle, &count) == MPI_SUCCESS && count == 4096);
    return handle;
}

static void settings_before(void) {
    char value[4096];
    MPI_T_cvar_handle handle = cvar_handle("transport.tokens");
    CHECK(MPI_T_cvar_read(handle, value) == MPI_SUCCESS && atoi(value) > 0);
    CHECK(MPI_T_cvar_write(handle, "many") == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_write(handle, "11") == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(handle, value) == MPI_SUCCESS && strcmp(value, "11") == 0);
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL);
    CHECK(MPI_T_cvar_read(handle, value) == MPI_T_ERR_INVALID_HANDLE);
    handle = cvar_handle("transport.unexpected");
    CHECK(MPI_T_cvar_write(handle, "64KiB") == MPI_SUCCESS);
    MPI_T_cvar_handle_free(&handle);
}

static void settings_after(void) {
    char value[4096];
    MPI_T_cvar_handle handle = cvar_handle("transport.tokens");
    CHECK(MPI_T_cvar_read(handle, value) == MPI_SUCCESS && strcmp(value, "11") == 0);
    CHECK(MPI_T_cvar_write(handle, "12") == MPI_T_ERR_CVAR_SET_NOT_NOW);
    MPI_T_cvar_handle_free(&handle);
}

/* Every name leads to its index; every variable is in one category. */
static void names(void) {
    int n, i, k, index, cvars = 0, pvars = 0, events = 0;
    MPI_T_category_get_num(&n);
    for (i = 0; i < n; i++) {
        char name[256];
        int length = sizeof name, in_cvars, in_pvars, in_events, sub, members[512];
        CHECK(MPI_T_category_get_info(i, name, &length, NULL, NULL, &in_cvars, &in_pvars, &sub) ==
              MPI_SUCCESS);
        CHECK(MPI_T_category_get_index(name, &index) == MPI_SUCCESS && index == i && sub == 0);
        MPI_T_category_get_num_events(i, &in_events);
        MPI_T_category_get_cvars(i, 512, members);
        for (k = 0; k < in_cvars; k++) {
            char key[256];
            int key_length = sizeof key;
            MPI_T_cvar_get_info(members[k], key, &key_length, NULL, NULL, NULL, NULL, NULL, NULL,
                                NULL);
            CHECK(strncmp(key, name, strlen(name)) == 0);
        }
        cvars += in_cvars, pvars += in_pvars, events += in_events;
    }
    MPI_T_cvar_get_num(&n);
    CHECK(n > 30 && n == cvars);
    MPI_T_pvar_get_num(&n);
    CHECK(n > 20 && n == pvars);
    MPI_T_event_get_num(&n);
    CHECK(n == 4 && n == events);
    CHECK(MPI_T_cvar_get_index("no such name", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_pvar_get_index("faults", MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
}

static MPI_T_pvar_handle pvar(const char* name, int class, int expected) {
    MPI_T_pvar_handle handle;
    int index, count = 0;
    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(count == expected);
    return handle;
}

static unsigned long total(MPI_T_pvar_handle handle) {
    unsigned long values[13], sum = 0;
    CHECK(MPI_T_pvar_read(session, handle, values) == MPI_SUCCESS);
    for (int i = 0; i < 13; i++) sum += values[i];
    return sum;
}

static void messages(int count) {
    char out[100] = "", in[100];
    for (int i = 0; i < count; i++)
        MPI_Sendrecv(out, sizeof out, MPI_CHAR, (me + 1) % ranks, 0, in, sizeof in, MPI_CHAR,
                     (me + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static MPI_T_pvar_handle kept;

static void counters(void) {
    MPI_T_pvar_handle sent = pvar("link.bytes_sent", MPI_T_PVAR_CLASS_COUNTER, 13);
    MPI_T_pvar_handle states = pvar("link.state", MPI_T_PVAR_CLASS_STATE, 12);
    MPI_T_pvar_handle unexpected = pvar("unexpected.messages", MPI_T_PVAR_CLASS_LEVEL, 1);
    unsigned long before, waiting = 0;
    int state[12], i, links = 0;
    const unsigned long least = ranks > 1 ? 1000 : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(total(sent) == 0); /* not started */
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    messages(10);
    CHECK(total(sent) >= least);
    CHECK(MPI_T_pvar_stop(session, sent) == MPI_SUCCESS);
    before = total(sent);
    messages(10);
    CHECK(total(sent) == before);
    MPI_T_pvar_start(session, sent);
    messages(10);
    CHECK(total(sent) >= before + least);
    CHECK(MPI_T_pvar_reset(session, sent) == MPI_SUCCESS);
    CHECK(total(sent) < before || ranks == 1);
    kept = sent;
    CHECK(MPI_T_pvar_start(session, states) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_reset(session, states) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_read(session, states, state) == MPI_SUCCESS);
    for (i = 0; i < 12; i++) {
        CHECK(state[i] == 0 || state[i] == 1); /* absent, or on its cable */
        links += state[i];
    }
    if (getenv("LINKS") != NULL) CHECK(links == atoi(getenv("LINKS")));
    MPI_Send(NULL, 0, MPI_CHAR, me, 5, MPI_COMM_WORLD);
    MPI_Probe(me, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* it has arrived */
    MPI_T_pvar_read(session, unexpected, &waiting);
    CHECK(waiting >= 1);
    MPI_Recv(NULL, 0, MPI_CHAR, me, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_T_pvar_handle_free(session, &states) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(session, states, state) == MPI_T_ERR_INVALID_HANDLE);
}

static void enumeration(void) {
    int index, count, length, value;
    char name[64];
    MPI_T_enum states;
    MPI_T_pvar_get_index("link.state", MPI_T_PVAR_CLASS_STATE, &index);
    MPI_T_pvar_get_info(index, NULL, NULL, NULL, NULL, NULL, &states, NULL, NULL, NULL, NULL, NULL,
                        NULL);
    CHECK(MPI_T_enum_get_info(states, &count, NULL, NULL) == MPI_SUCCESS && count == 4);
    length = sizeof name;
    CHECK(MPI_T_enum_get_item(states, 2, &value, name, &length) == MPI_SUCCESS);
    CHECK(value == 2 && strcmp(name, "detour") == 0);
    length = 4; /* the name is cut, and the whole length returned */
    MPI_T_enum_get_item(states, 2, &value, name, &length);
    CHECK(length == 7 && strcmp(name, "det") == 0);
    CHECK(MPI_T_enum_get_item(states, 4, &value, name, &length) == MPI_T_ERR_INVALID_INDEX);
}

static int freed;
static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data) {
    (void)registration, (void)safety;
    freed += *(int*)data;
}
static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void* data) {
    (void)instance, (void)registration, (void)safety, (void)data;
}

static void events(void) {
    MPI_T_event_registration registration;
    int index, one = 1, elements = 2, sources;
    MPI_Datatype types[3];
    MPI_Aint places[3];
    MPI_Count before, after;
    CHECK(MPI_T_event_get_index("link.died", &index) == MPI_SUCCESS);
    MPI_T_event_get_info(index, NULL, NULL, NULL, types, places, &elements, NULL, NULL, NULL, NULL,
                         NULL);
    CHECK(elements == 3 && types[1] == MPI_COUNT && places[1] == sizeof(MPI_Count));
    CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration) == MPI_SUCCESS);
    CHECK(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL,
                                        on_event) == MPI_SUCCESS);
    CHECK(MPI_T_event_handle_free(registration, &one, on_free) == MPI_SUCCESS && freed == 1);
    CHECK(MPI_T_event_handle_free(registration, &one, on_free) == MPI_T_ERR_INVALID_HANDLE);
    MPI_T_source_get_num(&sources);
    CHECK(sources == 1);
    MPI_T_source_get_timestamp(0, &before);
    MPI_T_source_get_timestamp(0, &after);
    CHECK(after >= before && MPI_T_source_get_timestamp(1, &after) == MPI_T_ERR_INVALID_INDEX);
}

static MPI_Count full[3];
static void on_full(MPI_T_event_instance instance, MPI_T_event_registration registration,
                    MPI_T_cb_safety safety, void* data) {
    MPI_Count used;
    (void)registration, (void)safety;
    CHECK(MPI_T_event_copy(instance, full) == MPI_SUCCESS);
    CHECK(MPI_T_event_read(instance, 1, &used) == MPI_SUCCESS && used == full[1]);
    ++*(int*)data;
}

/* The last rank sends twice as much to rank 0 as may wait there. */
static void unexpected_beyond_the_limit(void) {
    enum { count = 128 };
    char bytes[1024] = "";
    MPI_Request sends[count];
    MPI_T_event_registration registration;
    int index, happened = 0, there;
    CHECK(MPI_T_event_get_index("unexpected.full", &index) == MPI_SUCCESS);
    if (me == ranks - 1)
        for (int i = 0; i < count; i++)
            MPI_Isend(bytes, sizeof bytes, MPI_CHAR, 0, 9, MPI_COMM_WORLD, &sends[i]);
    if (me == 0) {
        MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration);
        MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &happened,
                                      on_full);
        while (happened == 0 && ranks > 1)
            MPI_Iprobe(ranks - 1, 10, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        CHECK(ranks == 1 || (full[0] == ranks - 1 && full[1] > full[2] && full[2] == 65536));
        MPI_T_event_handle_free(registration, NULL, NULL);
        for (int i = 0; i < count; i++)
            MPI_Recv(bytes, sizeof bytes, MPI_CHAR, ranks - 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (me == ranks - 1) MPI_Waitall(count, sends, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
    int provided, number;
    unsigned long last;
    if (MPI_T_cvar_get_num(&number) != MPI_T_ERR_NOT_INITIALIZED) return 1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_session_create(&session) != MPI_SUCCESS) return 1;
    /* no CHECK may fail before MPI_Init, because it could not report the failure */
    settings_before();
    names();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    settings_after();
    names();
    counters();
    enumeration();
    events();
    unexpected_beyond_the_limit();
    messages(5);
    last = total(kept);
    MPI_Finalize();
    if (total(kept) < last || (ranks > 1 && last == 0)) return 1; /* what is left of it */
    if (MPI_T_pvar_session_free(&session) != MPI_SUCCESS) return 1;
    if (MPI_T_finalize() != MPI_SUCCESS) return 1;
    return MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED ? 0 : 1;
}
