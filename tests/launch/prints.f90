! SPDX-License-Identifier: BSD-3-Clause
! The same as prints.c in Fortran, without a flush.
program prints
    use, intrinsic :: iso_c_binding, only: c_int
    implicit none
    include 'mpif.h'
    interface
        integer(c_int) function raise_signal(number) bind(c, name='raise')
            import c_int
            integer(c_int), value :: number
        end function
        integer(c_int) function microsleep(time) bind(c, name='usleep')
            import c_int
            integer(c_int), value :: time
        end function
    end interface
    character(4096) :: file, how, name
    integer :: rank, error
    integer(c_int) :: ignored
    logical :: there

    call get_command_argument(1, file)
    call get_command_argument(2, how)
    print '(a)', 'before MPI_Init'
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    print '(a, i0, a)', 'rank ', rank, ' is here'
    write (name, '(a, a, i0)') trim(file), '.', rank
    open (10, file=trim(name), status='new')
    close (10)
    do
        inquire (file=trim(file), exist=there)
        if (there) exit
        ignored = microsleep(2000_c_int)
    end do
    if (how == 'kill') ignored = raise_signal(9_c_int)
    print '(a, i0, a)', 'rank ', rank, ' ends'
    call MPI_Finalize(error)
end program
