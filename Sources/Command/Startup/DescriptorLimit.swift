// How many descriptors the process may have open at once: it is raised to what the system allows, and divided between connections of
// clients and everything else. So a crowd of clients can take no descriptor that a file, a provider or the control socket needs.

internal import Glibc
internal import Platform

public enum DescriptorLimit {
    /// It is not raised beyond this, since programs that the router starts inherit it, and some of them visit every possible descriptor.
    static let most = 1 << 20

    /// Raises the soft limit to the hard one, and returns what holds then. If the system refuses that, the old limit stays.
    public static func raise() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        let wanted = min(limit.rlim_max, rlim_t(most))
        if limit.rlim_cur < wanted {
            var raised = rlimit(rlim_cur: wanted, rlim_max: limit.rlim_max)
            if setrlimit(resource, &raised) == 0 { limit.rlim_cur = wanted }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// The number of descriptors that are open now.
    public static var open: Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // The two entries `.` and `..`, and the descriptor of this folder, do not count.
        return max(0, count - 3)
    }
}
