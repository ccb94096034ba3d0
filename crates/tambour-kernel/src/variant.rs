//! One way to run a kernel, and the check that the CPU can.
