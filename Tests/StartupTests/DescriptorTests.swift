// The limit of descriptors, and how it is divided.

import Glibc
import Plans
import Platform
import Testing

@testable import Startup

private func plan(connections: [Int], providers: Int = 1, hasAdmin: Bool = false, files: Int = 0) -> Plan {
    var plan = Plan()
    var sources = connections.enumerated().map { index, most in
        var source = SourcePlan(name: "in\(index)", plugin: "http")
        var http = HTTPSourcePlan()
        http.limits.connections = most
        source.http = http
        return source
    }
    for index in 0..<files {
        var source = SourcePlan(name: "file\(index)", plugin: "file")
        source.file = FileSourcePlan()
        sources.append(source)
    }
    plan.namedSources = sources
    plan.providers = (0..<providers).map { ProviderPlan(name: "p\($0)", plugin: "noop", settings: Secret([])) }
    if hasAdmin { plan.admin = AdminPlan() }
    return plan
}

@Suite("The descriptors of the process")
struct DescriptorTests {
    @Test("a soft limit is raised to the hard one")
    func raised() async {
        await #expect(processExitsWith: .success) {
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
            var limit = rlimit(rlim_cur: 60, rlim_max: 200)
            guard setrlimit(resource, &limit) == 0 else { throw SystemFault() }
            #expect(DescriptorLimit.raise() == 200)
            getrlimit(resource, &limit)
            #expect(limit.rlim_cur == 200 && limit.rlim_max == 200)
        }
    }

    @Test("the number of open descriptors grows with each")
    func open() async {
        await #expect(processExitsWith: .success) {
            let before = DescriptorLimit.open
            _ = dup(0)
            #expect(before > 0 && DescriptorLimit.open == before + 1)
        }
    }

    @Test("a listener gets what it wants where there is room, and nothing is said")
    func plenty() {
        let plan = plan(connections: [10_000])
        let shares = DescriptorShares(plan, limit: 65_536, open: 30)
        #expect(shares.connections == [10_000] && shares.message(source: 0, in: plan) == nil)
    }

    @Test("connections never reach what is kept for files, providers, admin and the control socket, and one message says so")
    func few() throws {
        let plan = plan(connections: [10_000], providers: 2, hasAdmin: true)
        let shares = DescriptorShares(plan, limit: 1024, open: 24)
        // 48 for files, 36 for each of the two servers, and 72 for each of the two providers.
        #expect(shares.kept == 264 && shares.connections == [736])
        let message = try #require(shares.message(source: 0, in: plan))
        #expect(message.hasPrefix("in0: at most 736 connections at once, not 10000 as limits.connections says"))
        #expect(message.contains("1024 descriptors") && message.contains("264 of them are kept") && message.contains("LimitNOFILE="))
    }

    @Test("a source of files keeps what it may have open")
    func followed() {
        let plan = plan(connections: [10_000], files: 1)
        #expect(DescriptorShares(plan, limit: 1024, open: 24).kept == 48 + 36 + 72 + 520)
        #expect(DescriptorShares(plan, limit: 1024, open: 24).connections == [324, nil])
    }

    @Test("under a very low limit clients still get a quarter of what is free")
    func lowest() {
        let plan = plan(connections: [100], providers: 20)
        let shares = DescriptorShares(plan, limit: 64, open: 24)
        #expect(shares.kept == 30 && shares.connections == [10])
        #expect(DescriptorShares(plan, limit: 10, open: 24).connections == [1])
    }

    @Test("several listeners share equally what the ones that want less leave")
    func several() {
        #expect(DescriptorShares.divide(100, among: [1000, nil, 10, 1000]) == [45, nil, 10, 45])
        #expect(DescriptorShares.divide(100, among: [20, 30]) == [20, 30])
        #expect(DescriptorShares.divide(1, among: [20, 30]) == [1, 1])
    }
}
