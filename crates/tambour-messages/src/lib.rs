//! Messages compressed one by one with a shared dictionary.
