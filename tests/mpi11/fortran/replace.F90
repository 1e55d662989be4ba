! SPDX-License-Identifier: BSD-3-Clause
! Each rank dies once (SIGKILL), one after the other, and a new process takes its place. In between,
! the survivors call all MPIX_ routines. Started with --keep-going. The same program for mpif.h, the
! module mpi and the module mpi_f08, with their extensions.
#if defined(WITH_F08)
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif

module checks
  implicit none
  integer :: failures = 0
contains
  subroutine check(condition, text)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: text
    if (condition) return
    failures = failures + 1
    write(0, '(2a)') 'not true: ', text
  end subroutine
end module

program replace
#if defined(WITH_F08)
  use mpi_f08
  use mpi_f08_ext
#elif defined(WITH_MODULE)
  use mpi
  use mpi_ext
#endif
  use, intrinsic :: iso_c_binding, only: c_int
  use checks
  implicit none
#if defined(WITH_HEADER)
  include 'mpif.h'
  include 'mpif-ext.h'
#endif
  interface
    function raise(signal) bind(C)
      import :: c_int
      integer(c_int), value :: signal
      integer(c_int) :: raise
    end function
    function getpid() bind(C)
      import :: c_int
      integer(c_int) :: getpid
    end function
  end interface
  integer(c_int), parameter :: sigkill = 9
  character(len=8), parameter :: arguments(3) = ['in place', 'of      ', '        ']
  HANDLE(MPI_Comm) :: all, whole, parent
  character(len=4096) :: self
  character(len=8) :: argument
  integer :: me, ranks, before, death, latest, code, i
  logical :: fresh

  call get_command_argument(0, self)
  call MPI_Init(code)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
  call MPI_Comm_get_parent(parent, code)
  fresh = parent /= MPI_COMM_NULL
  if (fresh) then
    call check(command_argument_count() == 2, 'two arguments are passed')
    do i = 1, 2
      call get_command_argument(i, argument)
      call check(argument == arguments(i), 'the arguments are those of the call')
    end do
    call torusmp_replace(MPI_COMM_NULL, ' ', MPI_ARGV_NULL, MPI_INFO_NULL, all, code)
    call check(code == MPI_SUCCESS, 'a new process takes a place')
    call torusmp_replace(MPI_COMM_NULL, ' ', MPI_ARGV_NULL, MPI_INFO_NULL, whole, code)
    call check_class(MPI_ERR_COMM, 'it takes only one')
  else
    call MPI_Comm_dup(MPI_COMM_WORLD, all, code)
  end if
  call MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN, code)
  call MPI_Comm_size(all, ranks, code)
  call MPI_Comm_rank(all, me, code)

  death = 0
  do
    ! A new process does not know how many have died.
    call MPI_Allreduce(death, latest, 1, MPI_INTEGER, MPI_MAX, all, code)
    call check(code == MPI_SUCCESS, 'all work together')
    if (code /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 9, code)
    if (death == 0 .and. .not. fresh) then
      whole = all
      call torusmp_replace(all, self, MPI_ARGV_NULL, MPI_INFO_NULL, whole, code)
      call check_class(MPI_ERR_ARG, 'no process has to be replaced')
      call check(whole == MPI_COMM_NULL, 'no communicator is returned')
    end if
    death = latest
    if (death == ranks) exit
    ! All others have ended their calls before the process dies.
    if (death == me) then
      do i = 1, ranks - 1
        call MPI_Recv(latest, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, all, MPI_STATUS_IGNORE, code)
      end do
      if (failures > 0) call MPI_Abort(MPI_COMM_WORLD, 9, code)
      i = raise(sigkill)
    end if
    call MPI_Send(death, 1, MPI_INTEGER, death, 1, all, code)
    code = MPI_SUCCESS
    do while (code == MPI_SUCCESS)
      call MPI_Barrier(all, code)
    end do
    call check(class_of(code) == MPIX_ERR_PROC_FAILED .or. class_of(code) == MPIX_ERR_REVOKED, &
               'the class of the error')
    call survive(death)
    before = me
    call torusmp_replace(all, self, arguments, MPI_INFO_NULL, whole, code)
    call check(code == MPI_SUCCESS, 'the dead process is replaced')
    if (code /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 9, code)
    call MPI_Comm_free(all, code)
    all = whole
    call MPI_Comm_rank(all, me, code)
    call check(me == before, 'survivors have their ranks')
    call MPI_Comm_size(all, i, code)
    call check(i == ranks, 'the communicator has its size')
    death = death + 1
  end do

  call MPI_Allreduce(failures, i, 1, MPI_INTEGER, MPI_SUM, all, code)
  if (me == 0 .and. i == 0) &
    print '(i0, a, i0, a)', ranks, ' processes are whole after ', death, ' deaths'
  call MPI_Comm_free(all, code)
  call MPI_Finalize(code)
  if (failures /= 0) stop 1

contains
  integer function class_of(error)
    integer, intent(in) :: error
    integer :: ignored
    call MPI_Error_class(error, class_of, ignored)
  end function

  subroutine check_class(expected, text)
    integer, intent(in) :: expected
    character(len=*), intent(in) :: text
    call check(class_of(code) == expected, text)
  end subroutine

  ! The one dead member is `dead`.
  ! Windows and files that all revoke.
  subroutine revoke_others(members)
    HANDLE(MPI_Comm) :: members
    HANDLE(MPI_Win) :: window
    HANDLE(MPI_File) :: file
    HANDLE(MPI_Group) :: group
    integer :: count, class
    character(len=40) :: name

    ! Tests that run beside this one use another file.
    count = getpid()
    call MPI_Bcast(count, 1, MPI_INTEGER, 0, members, code)
    write(name, '(a, i0)') 'replace_in_fortran_', count
    call MPI_Win_create_dynamic(MPI_INFO_NULL, members, window, code)
    call MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN, code)
    call MPI_File_open(members, trim(name), &
        MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file, code)
    call check(code == MPI_SUCCESS, 'a file is opened')
    call MPIX_Win_get_failed(window, group, code)
    call MPI_Group_size(group, count, code)
    call check(count == 0, 'MPIX_Win_get_failed')
    call MPI_Group_free(group, code)
    call MPI_Barrier(members, code)
    call MPIX_Win_revoke(window, code)
    call check(code == MPI_SUCCESS, 'MPIX_Win_revoke')
    call MPI_Win_fence(0, window, code)
    call MPI_Error_class(code, class, code)
    call check(class == MPIX_ERR_REVOKED, 'the window is revoked')
    call MPI_Win_free(window, code)
    call check(code == MPI_SUCCESS, 'a revoked window is freed')
    call MPIX_File_revoke(file, code)
    call check(code == MPI_SUCCESS, 'MPIX_File_revoke')
    call MPI_File_sync(file, code)
    call MPI_Error_class(code, class, code)
    call check(class == MPIX_ERR_REVOKED, 'the file is revoked')
    call MPI_File_close(file, code)
    call check(code == MPI_SUCCESS, 'a revoked file is closed')
  end subroutine

  subroutine survive(dead)
    integer, intent(in) :: dead
    HANDLE(MPI_Group) :: group, members
    HANDLE(MPI_Comm) :: smaller
    HANDLE(MPI_Request) :: request
    integer(MPI_ADDRESS_KIND) :: goes_on
    integer, asynchronous :: flags
    integer :: count, place(1), expected
    logical :: flag

    call MPI_Comm_get_attr(all, MPIX_FT, goes_on, flag, code)
    call check(flag .and. goes_on == 1, 'MPIX_FT')
#if defined(WITH_F08)
    call MPIX_Comm_revoke(all)
#else
    call MPIX_Comm_revoke(all, code)
#endif
    count = 0
    do while (count == 0)
      call MPIX_Comm_is_revoked(all, flag, code)
      call check(code == MPI_SUCCESS .and. flag, 'the communicator is revoked')
      call MPIX_Comm_get_failed(all, group, code)
      call MPI_Group_size(group, count, code)
      if (count == 0) call MPI_Group_free(group, code)
    end do
    call MPI_Comm_group(all, members, code)
    call MPI_Group_translate_ranks(group, 1, [0], members, place, code)
    call check(count == 1 .and. place(1) == dead, 'MPIX_Comm_get_failed names the dead')
    call MPI_Group_free(group, code)
    call MPIX_Comm_ack_failed(all, 0, count, code)
    call check(code == MPI_SUCCESS .and. count == 0, 'no death is acknowledged')
    call MPIX_Comm_failure_ack(all, code)
    call check(code == MPI_SUCCESS, 'MPIX_Comm_failure_ack')
    call MPIX_Comm_failure_get_acked(all, group, code)
    call MPI_Group_translate_ranks(group, 1, [0], members, place, code)
    call check(place(1) == dead, 'MPIX_Comm_failure_get_acked')
    call MPI_Group_free(group, code)
    call MPI_Group_free(members, code)
    call MPIX_Comm_ack_failed(all, 1, count, code)
    call check(code == MPI_SUCCESS .and. count == 1, 'MPIX_Comm_ack_failed')

    ! Each survivor clears a bit of its own.
    expected = 2**dead
    call agree(expected)
    flags = ibclr(2**ranks - 1, me)
    call MPIX_Comm_iagree(all, flags, request, code)
    call check(code == MPI_SUCCESS, 'MPIX_Comm_iagree starts')
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call check(code == MPI_SUCCESS .and. flags == expected, 'MPIX_Comm_iagree')

    call MPIX_Comm_shrink(all, smaller, code)
    call MPI_Comm_size(smaller, count, code)
    call check(code == MPI_SUCCESS .and. count == ranks - 1, 'MPIX_Comm_shrink')
    call MPI_Comm_free(smaller, code)
    call PMPIX_Comm_shrink(all, smaller, code)
    call MPI_Comm_free(smaller, code)
    call check(code == MPI_SUCCESS, 'PMPIX_Comm_shrink')
    call shrink_later(smaller)
    call MPI_Comm_size(smaller, count, code)
    call check(code == MPI_SUCCESS .and. count == ranks - 1, 'MPIX_Comm_ishrink')
    call revoke_others(smaller)
    call MPI_Comm_free(smaller, code)
  end subroutine

  ! The compiler may drop what is assigned to a variable before a call if the call only sets it.
  subroutine agree(expected)
    integer, intent(in) :: expected
    integer :: flags, others
    flags = ibclr(2**ranks - 1, me)
    call MPIX_Comm_agree(all, flags, code)
    call check(code == MPI_SUCCESS .and. flags == expected, 'MPIX_Comm_agree')
    others = ibclr(2**ranks - 1, me)
    call MPI_Comm_agree(all, others, code)
    call check(code == MPI_SUCCESS .and. others == expected, 'MPI_Comm_agree')
  end subroutine

  subroutine shrink_later(smaller)
    HANDLE(MPI_Comm), asynchronous, intent(out) :: smaller
    HANDLE(MPI_Request) :: request
    call MPIX_Comm_ishrink(all, smaller, request, code)
    call check(code == MPI_SUCCESS, 'MPIX_Comm_ishrink starts')
    call MPI_Wait(request, MPI_STATUS_IGNORE, code)
    call check(code == MPI_SUCCESS, 'MPIX_Comm_ishrink ends')
  end subroutine
end program
