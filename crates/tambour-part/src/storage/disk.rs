//! The disk of this machine.
/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;
impl super::Storage for Disk {
    fn open(&self, _: &std::path::Path) -> std::io::Result<std::sync::Arc<dyn super::ReadAt>> {
        todo!()
    }
    fn create(&self, _: &std::path::Path) -> std::io::Result<Box<dyn super::WriteFile>> {
        todo!()
    }
    fn create_directory(&self, _: &std::path::Path) -> std::io::Result<()> {
        todo!()
    }
    fn rename(&self, _: &std::path::Path, _: &std::path::Path) -> std::io::Result<()> {
        todo!()
    }
    fn sync_directory(&self, _: &std::path::Path) -> std::io::Result<()> {
        todo!()
    }
    fn list(&self, _: &std::path::Path) -> std::io::Result<Vec<super::Entry>> {
        todo!()
    }
    fn remove_file(&self, _: &std::path::Path) -> std::io::Result<()> {
        todo!()
    }
    fn remove_directory(&self, _: &std::path::Path) -> std::io::Result<()> {
        todo!()
    }
    fn sync_file(&self, path: &std::path::Path) -> std::io::Result<()> {
        std::fs::File::open(path)?.sync_all()
    }
    fn lock(&self, path: &std::path::Path, note: &str) -> std::io::Result<Box<dyn super::Lock>> {
        super::flock::lock(path, note)
    }
    fn exists(&self, _: &std::path::Path) -> std::io::Result<bool> {
        todo!()
    }
}
