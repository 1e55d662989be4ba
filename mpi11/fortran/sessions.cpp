// SPDX-License-Identifier: BSD-3-Clause
// Routines of sessions with CHARACTER arguments, and functions of the program.
#include "mpi11/error/error.h"
#include "mpi11/fortran/arguments.h"
#include "mpi11/fortran/text.h"

using namespace torusmp::mpi;

extern "C" {

void pmpi_session_create_errhandler_(MPI_Session_errhandler_function* function,
                                     MPI_Fint* errhandler, Ierror ierror) {
    ierror = api_at_any_time("MPI_Session_create_errhandler", [&] {
        *errhandler = to_fortran(handle_of(
            make<ErrorHandler>(ErrorHandler::Way::fortran,
                               reinterpret_cast<MPI_Comm_errhandler_function*>(function))));
    });
}

// Lengths do not include the null character, unlike in C.
void pmpi_session_get_nth_pset_(const MPI_Fint* session, const MPI_Fint* info, const MPI_Fint* n,
                                MPI_Fint* pset_len, char* pset_name, Ierror ierror, Length length) {
    char name[MPI_MAX_PSET_NAME_LEN] = "";
    int found = sizeof name;
    const int code = PMPI_Session_get_nth_pset(from_fortran<MPI_Session>(*session),
                                               from_fortran<MPI_Info>(*info), *n, &found, name);
    ierror = code;
    if (code != MPI_SUCCESS) return;
    if (*pset_len > 0) fill(pset_name, length, name);
    *pset_len = found - 1;
}

void pmpi_session_get_pset_info_(const MPI_Fint* session, const char* pset_name, MPI_Fint* info,
                                 Ierror ierror, Length length) {
    ierror = PMPI_Session_get_pset_info(from_fortran<MPI_Session>(*session),
                                        trimmed(pset_name, length).c_str(),
                                        Argument<MPI_Info*>(info).in_c());
}

void pmpi_group_from_session_pset_(const MPI_Fint* session, const char* pset_name,
                                   MPI_Fint* newgroup, Ierror ierror, Length length) {
    ierror = PMPI_Group_from_session_pset(from_fortran<MPI_Session>(*session),
                                          trimmed(pset_name, length).c_str(),
                                          Argument<MPI_Group*>(newgroup).in_c());
}

void pmpi_comm_create_from_group_(const MPI_Fint* group, const char* stringtag,
                                  const MPI_Fint* info, const MPI_Fint* errhandler,
                                  MPI_Fint* newcomm, Ierror ierror, Length length) {
    ierror = PMPI_Comm_create_from_group(
        from_fortran<MPI_Group>(*group), c_string(stringtag, length).c_str(),
        from_fortran<MPI_Info>(*info), from_fortran<MPI_Errhandler>(*errhandler),
        Argument<MPI_Comm*>(newcomm).in_c());
}

void pmpi_intercomm_create_from_groups_(const MPI_Fint* local_group, const MPI_Fint* local_leader,
                                        const MPI_Fint* remote_group, const MPI_Fint* remote_leader,
                                        const char* stringtag, const MPI_Fint* info,
                                        const MPI_Fint* errhandler, MPI_Fint* newintercomm,
                                        Ierror ierror, Length length) {
    ierror = PMPI_Intercomm_create_from_groups(
        from_fortran<MPI_Group>(*local_group), *local_leader,
        from_fortran<MPI_Group>(*remote_group), *remote_leader, c_string(stringtag, length).c_str(),
        from_fortran<MPI_Info>(*info), from_fortran<MPI_Errhandler>(*errhandler),
        Argument<MPI_Comm*>(newintercomm).in_c());
}
}

FORTRAN_NAME_F08(session_create_errhandler)
FORTRAN_NAME_F08(session_get_nth_pset)
FORTRAN_NAME_F08(session_get_pset_info)
FORTRAN_NAME_F08(group_from_session_pset)
FORTRAN_NAME_F08(comm_create_from_group)
FORTRAN_NAME_F08(intercomm_create_from_groups)
