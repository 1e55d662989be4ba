/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes, error handlers and infos, in cases. */
#include "talk.h"

static int copies, deletes;
static int deleted[8];
static int state;

static int copy_next(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
    (void)comm, (void)keyval;
    CHECK(extra == &state);
    copies++;
    *(void**)out = (char*)in + 1;
    *flag = in != NULL;
    return MPI_SUCCESS;
}
static int note_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
    int flag;
    void* found;
    CHECK(extra == &state);
    /* It is still there, on a communicator that still works. */
    CHECK(MPI_Comm_get_attr(comm, keyval, &found, &flag) == MPI_SUCCESS && flag && found == value);
    deleted[deletes++ % 8] = (int)(size_t)value;
    return MPI_SUCCESS;
}
static int refuse_copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
    (void)comm, (void)keyval, (void)extra, (void)in, (void)out;
    *flag = 1;
    return MPI_ERR_OTHER;
}
static int refuse_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
    (void)comm, (void)keyval, (void)value;
    return *(int*)extra ? MPI_ERR_ARG : MPI_SUCCESS;
}

static void attributes(void) {
    MPI_Comm one, two;
    int key, plain, flag, i, keys[3];
    void* value;
    copies = deletes = 0;
    CHECK(MPI_Comm_create_keyval(copy_next, note_delete, &key, &state) == MPI_SUCCESS);
    CHECK(MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &plain, NULL) == MPI_SUCCESS);
    CHECK(key != plain && key != MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &one) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_attr(one, key, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Comm_set_attr(one, key, (void*)10) == MPI_SUCCESS);
    CHECK(MPI_Attr_put(one, plain, (void*)20) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(one, key, (void*)11) == MPI_SUCCESS);
    CHECK(deletes == 1 && deleted[0] == 10);
    CHECK(MPI_Comm_dup(one, &two) == MPI_SUCCESS);
    CHECK(copies == 1);
    CHECK(MPI_Attr_get(two, key, &value, &flag) == MPI_SUCCESS && flag && value == (void*)12);
    CHECK(MPI_Attr_get(two, plain, &value, &flag) == MPI_SUCCESS && !flag);
    /* A key that is in use lives on without a name. */
    i = key;
    CHECK(MPI_Comm_free_keyval(&i) == MPI_SUCCESS && i == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_free(&two) == MPI_SUCCESS);
    CHECK(deletes == 2 && deleted[1] == 12);
    CHECK(MPI_Comm_delete_attr(one, key) == MPI_SUCCESS);
    CHECK(deletes == 3 && deleted[2] == 11);
    CHECK(MPI_Keyval_free(&plain) == MPI_SUCCESS);
    /* The last set is the first deleted. */
    for (i = 0; i < 3; i++) {
        CHECK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, note_delete, &keys[i], &state) ==
              MPI_SUCCESS);
        CHECK(MPI_Comm_set_attr(one, keys[i], (void*)(size_t)(50 + i)) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_dup(one, &two) == MPI_SUCCESS);
    deletes = 0;
    CHECK(MPI_Comm_free(&one) == MPI_SUCCESS);
    CHECK(deletes == 3 && deleted[0] == 52 && deleted[1] == 51 && deleted[2] == 50);
    CHECK(MPI_Comm_get_attr(two, keys[1], &value, &flag) == MPI_SUCCESS && value == (void*)51);
    for (i = 0; i < 3; i++) CHECK(MPI_Comm_free_keyval(&keys[i]) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&two) == MPI_SUCCESS && deletes == 6);
}

static void attribute_errors(void) {
    MPI_Comm comm, copy = MPI_COMM_SELF;
    int refusing = 1, key, bad, type_key, flag;
    void* value;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_keyval(refuse_copy, refuse_delete, &key, &refusing) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(comm, key, NULL) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_dup(comm, &copy), MPI_ERR_OTHER);
    CHECK(copy == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_set_attr(comm, key, &state), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_delete_attr(comm, key), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_free(&comm), MPI_ERR_ARG);
    CHECK(comm != MPI_COMM_NULL);
    ring(comm);
    refusing = 0;
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    bad = key;
    CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, bad, NULL), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag),
                MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    key = MPI_TAG_UB;
    CHECK_CLASS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &state), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_IO), MPI_ERR_KEYVAL);
    CHECK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL) ==
          MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_set_attr(MPI_COMM_WORLD, type_key, NULL), MPI_ERR_KEYVAL);
    CHECK(MPI_Type_free_keyval(&type_key) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

static void predefined_attributes(void) {
    int* value;
    int flag, alone;
    MPI_Comm host;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(*value >= 32767);
    {
        int in = 3, out = 4;
        CHECK(MPI_Sendrecv(&in, 1, MPI_INT, me, *value, &out, 1, MPI_INT, me, *value,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              out == 3);
    }
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(*value == MPI_ANY_SOURCE);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag) == MPI_SUCCESS && flag);
    CHECK(*value == MPI_PROC_NULL);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag) == MPI_SUCCESS);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host) ==
          MPI_SUCCESS);
    alone = size_of(host) == ranks;
    CHECK(flag && *value == alone); /* the clock is a host's */
    CHECK(MPI_Comm_free(&host) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && *value >= ranks); /* and every processor */
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag) == MPI_SUCCESS);
    CHECK(flag && *value == 0);
}

static int type_copies;
static int copy_type(MPI_Datatype type, int keyval, void* extra, void* in, void* out, int* flag) {
    (void)type, (void)keyval, (void)extra;
    type_copies++;
    *(void**)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}
static int delete_type(MPI_Datatype type, int keyval, void* value, void* extra) {
    (void)type, (void)keyval, (void)value;
    ++*(int*)extra;
    return MPI_SUCCESS;
}

static void type_attributes(void) {
    MPI_Datatype type, copy;
    int key, flag, gone = 0;
    void* value;
    CHECK(MPI_Type_contiguous(3, MPI_INT, &type) == MPI_SUCCESS);
    CHECK(MPI_Type_create_keyval(copy_type, delete_type, &key, &gone) == MPI_SUCCESS);
    CHECK(MPI_Type_set_attr(type, key, (void*)7) == MPI_SUCCESS);
    CHECK(MPI_Type_dup(type, &copy) == MPI_SUCCESS && type_copies == 1);
    CHECK(MPI_Type_get_attr(copy, key, &value, &flag) == MPI_SUCCESS && flag && value == (void*)7);
    CHECK(MPI_Type_delete_attr(copy, key) == MPI_SUCCESS && gone == 1);
    CHECK(MPI_Type_get_attr(copy, key, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Type_free(&copy) == MPI_SUCCESS && gone == 1);
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS && gone == 2);
    CHECK(MPI_Type_free_keyval(&key) == MPI_SUCCESS);
    type_copies = 0;
}

/* --- errors --- */

static int heard;
static MPI_Comm heard_on;
static void listener(MPI_Comm* comm, int* code, ...) {
    heard_on = *comm;
    MPI_Error_class(*code, &heard);
}

static void error_handlers(void) {
    MPI_Errhandler handler, found;
    MPI_Comm copy, second;
    int n;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_errhandler(copy, &found) == MPI_SUCCESS);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Errhandler_free(&found) == MPI_SUCCESS && found == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Comm_create_errhandler(listener, &handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(copy, handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(copy, &found) == MPI_SUCCESS && found == handler);
    CHECK(MPI_Errhandler_free(&found) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(MPI_Send(&n, 1, MPI_INT, ranks, 0, copy) != MPI_SUCCESS);
    CHECK(heard == MPI_ERR_RANK && heard_on == copy);
    CHECK(MPI_Comm_call_errhandler(copy, MPI_ERR_TRUNCATE) == MPI_SUCCESS);
    CHECK(heard == MPI_ERR_TRUNCATE);
    CHECK(MPI_Comm_dup(copy, &second) == MPI_SUCCESS);
    heard = 0;
    CHECK(MPI_Send(&n, -1, MPI_INT, 0, 0, second) != MPI_SUCCESS);
    CHECK(heard == MPI_ERR_COUNT && heard_on == second);
    CHECK_CLASS(MPI_Comm_set_errhandler(copy, MPI_ERRHANDLER_NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_set_errhandler(copy, (MPI_Errhandler)&n), MPI_ERR_ARG);
    CHECK(MPI_Comm_free(&second) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
}

static void error_codes(void) {
    char text[MPI_MAX_ERROR_STRING], again[MPI_MAX_ERROR_STRING];
    int length, i, class, code, found, *last, flag;
    for (i = 0; i <= MPI_ERR_IN_STATUS; i++) {
        CHECK(MPI_Error_class(i, &found) == MPI_SUCCESS && found == i);
        CHECK(MPI_Error_string(i, text, &length) == MPI_SUCCESS);
        CHECK(length > 0 && (int)strlen(text) == length);
    }
    CHECK(MPI_Error_string(MPI_ERR_RANK, text, &length) == MPI_SUCCESS);
    CHECK(MPI_Error_string(MPI_ERR_TAG, again, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, again) != 0);
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && class > MPI_ERR_LASTCODE);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS && code != class);
    CHECK(MPI_Error_class(code, &found) == MPI_SUCCESS && found == class);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS && length == 0);
    CHECK(MPI_Add_error_string(code, "out of cheese") == MPI_SUCCESS);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, "out of cheese") == 0);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag) == MPI_SUCCESS);
    CHECK(flag && *last >= code);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Error_class(-3, &found), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Error_string(MPI_ERR_LASTCODE + 1000, text, &length), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Add_error_string(MPI_ERR_RANK, "mine"), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Add_error_code(code, &found), MPI_ERR_ARG);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
}

/* --- info --- */

static void infos(void) {
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL], longer[MPI_MAX_INFO_VAL + 10];
    int n, flag, length;
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "b", "1") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "a", "second") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "b", "first") == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(info, &n) == MPI_SUCCESS && n == 2);
    CHECK(MPI_Info_get_nthkey(info, 0, key) == MPI_SUCCESS && strcmp(key, "b") == 0);
    CHECK(MPI_Info_get_valuelen(info, "a", &length, &flag) == MPI_SUCCESS && flag && length == 6);
    CHECK(MPI_Info_get(info, "a", 3, value, &flag) == MPI_SUCCESS && strcmp(value, "sec") == 0);
    length = 4;
    CHECK(MPI_Info_get_string(info, "a", &length, value, &flag) == MPI_SUCCESS);
    CHECK(flag && length == 7 && strcmp(value, "sec") == 0);
    length = 0;
    CHECK(MPI_Info_get_string(info, "a", &length, NULL, &flag) == MPI_SUCCESS && length == 7);
    CHECK(MPI_Info_get(info, "c", 10, value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Info_dup(info, &copy) == MPI_SUCCESS);
    CHECK(MPI_Info_delete(copy, "b") == MPI_SUCCESS);
    CHECK(MPI_Info_get_nkeys(copy, &n) == MPI_SUCCESS && n == 1);
    CHECK(MPI_Info_get_nkeys(info, &n) == MPI_SUCCESS && n == 2);
    CHECK(MPI_Info_get(MPI_INFO_ENV, "maxprocs", 10, value, &flag) == MPI_SUCCESS && flag);
    CHECK(atoi(value) == ranks);

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Info_delete(copy, "b"), MPI_ERR_INFO_NOKEY);
    CHECK_CLASS(MPI_Info_set(copy, "", "x"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_set(copy, NULL, "x"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_set(copy, "x", NULL), MPI_ERR_INFO_VALUE);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    CHECK_CLASS(MPI_Info_set(copy, "x", longer), MPI_ERR_INFO_VALUE);
    CHECK_CLASS(MPI_Info_set(copy, longer, "x"), MPI_ERR_INFO_KEY);
    CHECK_CLASS(MPI_Info_get_nthkey(copy, 1, key), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Info_set(MPI_INFO_NULL, "x", "x"), MPI_ERR_INFO);
    CHECK_CLASS(MPI_Info_set(MPI_INFO_ENV, "x", "x"), MPI_ERR_INFO);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&copy) == MPI_SUCCESS && copy == MPI_INFO_NULL);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

/* Infos and error classes work at any time: stage 0 is before MPI_Init, 1 in between, 2 after
 * MPI_Finalize. CHECK cannot name the rank in stages 0 and 2. */
static MPI_Info early;
static int works(int stage) {
    MPI_Info copy;
    char key[MPI_MAX_INFO_KEY], text[MPI_MAX_ERROR_STRING], value[8] = "";
    int n, flag, length = sizeof value, code, class_;
    if (stage == 0 && MPI_Info_create(&early)) return 0;
    sprintf(key, "stage%d", stage);
    if (MPI_Info_set(early, key, "on") || MPI_Info_dup(early, &copy)) return 0;
    if (MPI_Info_get_nkeys(copy, &n) || n != stage + 1) return 0;
    if (MPI_Info_get_nthkey(copy, stage, text) || strcmp(text, key) != 0) return 0;
    if (MPI_Info_get_valuelen(copy, "stage0", &n, &flag) || !flag || n != 2) return 0;
    if (MPI_Info_get_string(copy, "stage0", &length, value, &flag) || !flag) return 0;
    if (strcmp(value, "on") != 0) return 0;
    if (MPI_Info_delete(copy, key) || MPI_Info_free(&copy)) return 0;
    if (MPI_Info_get_nkeys(early, &n) || n != stage + 1) return 0;
    if (MPI_Add_error_class(&class_) || MPI_Add_error_code(class_, &code)) return 0;
    if (MPI_Add_error_string(code, key) || MPI_Error_string(code, text, &n)) return 0;
    if (strcmp(text, key) != 0 || MPI_Error_class(code, &n) || n != class_) return 0;
    return stage < 2 || MPI_Info_free(&early) == MPI_SUCCESS;
}

static void infos_at_any_time(void) {
    CHECK(works(1));
}

/* The attributes of MPI_COMM_SELF go first of all, the last set first, and MPI still works. */
static int last_words;
static int at_end(MPI_Comm comm, int keyval, void* value, void* extra) {
    int finalized = -1, out = 8, in = 0;
    (void)keyval, (void)extra;
    CHECK(MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized);
    CHECK((int)(size_t)value == 3 - last_words);
    CHECK(MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS &&
          in == 8);
    if (++last_words == 3 && me == 0) puts("last words spoken");
    return MPI_SUCCESS;
}

static void words_at_the_end(void) {
    int i, key;
    for (i = 1; i <= 3; i++) {
        CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, NULL) == MPI_SUCCESS);
        CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void*)(size_t)i) == MPI_SUCCESS);
        CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS);
    }
}

static const Case cases[] = {
    {"attributes", attributes},
    {"attribute_errors", attribute_errors},
    {"predefined_attributes", predefined_attributes},
    {"type_attributes", type_attributes},
    {"error_handlers", error_handlers},
    {"error_codes", error_codes},
    {"infos", infos},
    {"infos_at_any_time", infos_at_any_time},
    {"words_at_the_end", words_at_the_end},
};

int main(int argc, char** argv) {
    if (!works(0)) return 1;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    if (argc == 1 && !works(2)) return 1;
    return 0;
}
