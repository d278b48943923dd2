import Glibc
import Platform
import Testing

@Suite("The program's own path")
struct OwnProgramTests {
    @Test("is the path of the running file and not the kernel's link")
    func path() {
        let path = OwnProgram.path
        #expect(path != OwnProgram.link && path.hasPrefix("/"))
        var (named, running) = (stat(), stat())
        #expect(stat(path, &named) == 0 && stat(OwnProgram.link, &running) == 0)
        #expect(named.st_ino == running.st_ino && named.st_dev == running.st_dev)
    }
}
