! fortran_arrays.f90 - Fortran: an array in a COMMON block, one in a module, an allocatable one.
! Truth: the COMMON block `wave` gets 50% of the accesses, the module array `grid` 25%, `work` (heap) 25%.
! An optional argument is the number of rounds; EXAMPLE_LONGER in the environment multiplies it, as in example.h.
module plate
   implicit none
   integer, parameter :: points = 16384
   real(8), volatile :: grid(points)
end module plate

program fortran_arrays
   use plate
   implicit none
   real(8), volatile :: pressure(2 * points)
   common /wave/ pressure
   real(8), allocatable :: work(:)
   real(8) :: total
   integer :: i, round, rounds, longer, status
   character(len=32) :: text

   rounds = 25000
   if (command_argument_count() > 0) then
      call get_command_argument(1, text)
      read (text, *) rounds
   end if
   call get_environment_variable('EXAMPLE_LONGER', text, status=status)
   if (status == 0) then
      read (text, *) longer
      rounds = rounds * longer
   end if
   allocate (work(points)) ! site: work
   pressure = 1.0d0
   grid = 2.0d0
   work = 0.0d0
   total = 0.0d0
   do round = 1, rounds
      do i = 1, points
         total = total + pressure(2 * i - 1) + pressure(2 * i) + grid(i) + work(i)
      end do
   end do
   print '(a, es12.4)', 'total ', total
   deallocate (work)
end program fortran_arrays
