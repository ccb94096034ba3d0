//! SQLite databases in a compressed page store: a VFS.
