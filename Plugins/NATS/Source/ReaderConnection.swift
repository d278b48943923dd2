// What the thread of a reader does with its connection: makes it, prepares the consumer, sends to the server, and reads what it says of the
// consumer. It promises that acknowledgements which a lost connection did not take are sent on the next one.

internal import HTTPKit
internal import PluginKit

extension StreamReader {
    /// What a request for messages allows at least, beside the largest message.
    private static let leastBytes = 2 << 20
    /// How often the server is asked about the consumer.
    private static let look = Duration.seconds(5)
    /// How often a new number of messages that came again is shown.
    private static let stateTime = Duration.seconds(60)

    // MARK: - The connection

    func connect(_ session: inout Session) {
        do throws(ConnectionFault) {
            if let reason = library.load() { throw ConnectionFault(words: reason, isSetting: true) }
            let connection = try Connection.open(rules.servers, first: session.server, name: "switchyard", listener: self)
            state.withLock { state in
                (state.connection, state.pull, state.broken, state.answers) = (connection.number, nil, nil, [])
                (state.hasHeard, state.hasMore) = (false, false)
                state.pullBytes = max(StreamReader.leastBytes, connection.mostBytes + (64 << 10))
            }
            session.connection = connection
            // It may have ended before its number was known here.
            if !connection.isOpen { throw ConnectionFault(words: "the connection ended", isSetting: false) }
            try prepare(&session, ConsumerSetup(rules, connection, milliseconds: rules.requestTimeout))
        } catch {
            drop(&session, error)
        }
    }

    func prepare(_ session: inout Session, _ setup: ConsumerSetup) throws(ConnectionFault) {
        let (consumer, isNew) = try setup.prepare(after: session.place)
        if let known = session.consumer, known.created != consumer.created {
            state.withLock { state in
                state.held.forget()
                (state.ended, state.handOverAt) = ([], nil)
            }
            session.place = nil
            host.log(.warning, "the consumer '\(rules.consumer)' is another one than before; what was not acknowledged to it comes again")
        }
        if session.place == nil {
            // Without the permission to ask for it, a consumer that is made again begins with the first message.
            session.place = StreamPlace(streamCreated: (try? setup.streamCreated()) ?? "", acknowledged: 0)
        }
        session.place?.acknowledged = consumer.acknowledged
        session.consumer = consumer
        (session.nextSign, session.nextLook) = (clock.now(), clock.now() + StreamReader.look)
        tellState(&session, isNew ? ", which was made" : "")
    }

    func tellState(_ session: inout Session, _ more: String = "") {
        guard let connection = session.connection else { return }
        let (redelivered, repeated) = state.withLock { ($0.held.redelivered, $0.held.repeated) }
        session.shownRedelivered = redelivered
        let again = redelivered == 0 ? "" : "; \(redelivered) messages were given out again, \(repeated) of them while they were in work"
        host.state(.connected, "\(connection.server.origin): stream '\(rules.stream)', consumer '\(rules.consumer)'\(more)\(again)")
    }

    func drop(_ session: inout Session, _ fault: ConnectionFault) {
        let (own, hasHeard) = state.withLock { state in
            defer { (state.connection, state.pull, state.broken) = (0, nil, nil) }
            // What the server has reported says more than a request that was not answered.
            return (state.broken ?? fault, state.hasHeard)
        }
        session.connection = nil
        session.server += 1
        // What a person has to change is tried less and less often, also if messages come.
        session.failures = hasHeard && !own.isSetting ? 1 : session.failures + 1
        let pause = Duration.milliseconds(min(30_000, 250 << min(session.failures - 1, 10)))
        session.nextAttempt = clock.now() + pause
        host.behind(events: nil, milliseconds: nil)
        let words = rules.servers.secrets.concealed(in: own.words)
        host.state(own.isSetting ? .fault : .connecting, "\(words); the next attempt is in \(pause.nanoseconds / 1_000_000) ms")
    }

    /// Acknowledges what has ended, and gives back the rest.
    func end(_ session: inout Session) {
        var ended = state.withLock { $0.ended }
        if session.connection == nil, !ended.isEmpty {
            session.connection = try? Connection.open(rules.servers, first: session.server, name: "switchyard", listener: nil)
        }
        if let connection = session.connection {
            acknowledge(ended, session)
            // The server must not give out here again what is given back.
            connection.unsubscribe()
            send("-NAK", to: state.withLock { $0.held.all }, session)
            if connection.flush(milliseconds: rules.requestTimeout) { ended = [] }
        }
        let count = ended.reduce(0) { $0 + $1.count }
        if count > 0 { host.log(.warning, "\(count) messages have come to their end, and the server does not know it; they come again") }
    }

    // MARK: - Messages to the server

    func acknowledge(_ ended: [Replies], _ session: Session) {
        guard send("+ACK", to: ended, session) else { return }
        state.withLock { state in
            for replies in ended { state.held.acknowledged(replies) }
            state.ended.removeFirst(ended.count)
        }
    }

    /// Returns false if the connection does not take all of them. Then it has ended, and the next one gets them again.
    @discardableResult
    func send(_ body: StaticString, to replies: [Replies], _ session: Session) -> Bool {
        guard let connection = session.connection else { return false }
        for block in replies {
            for index in 0..<block.count where !connection.publish(block[index], body) {
                lose(connection.number, ConnectionFault(words: "the connection ended", isSetting: false))
                return false
            }
        }
        return true
    }

    func pull(_ session: Session) {
        guard let connection = session.connection, let consumer = session.consumer else { return }
        let now = clock.now()
        let pull = state.withLock { state in
            state.lastPull += 1
            let pull = PullRequest(number: state.lastPull, consumer, bytes: state.pullBytes, now: now)
            state.pull = pull
            return pull
        }
        if !connection.publish(ConsumerSetup.pullSubject(rules), reply: "\(connection.inbox).p\(pull.number)", text: pull.body) {
            closed(connection.number)
        }
    }

    // MARK: - What the server says of the consumer

    func look(_ session: inout Session) {
        session.nextLook = clock.now() + StreamReader.look
        guard let connection = session.connection else { return }
        if !connection.publish(ConsumerSetup.infoSubject(rules), reply: "\(connection.inbox).i", text: "") { closed(connection.number) }
    }

    func take(_ answer: String, _ session: inout Session) {
        guard let known = session.consumer else { return }
        do throws(JetStreamError) {
            let info = try ConsumerInfo(answer)
            guard info.created == known.created else {
                return drop(&session, ConnectionFault(words: "the consumer is another one than before", isSetting: false))
            }
            session.place?.acknowledged = info.acknowledged
            let (time, redelivered) = state.withLock { ($0.lastTime, $0.held.redelivered) }
            let age = time.map { UInt64(clamping: max(0, clock.wall() - $0) / 1_000_000) }
            host.behind(events: info.pending, milliseconds: info.pending == 0 ? 0 : age)
            if redelivered != session.shownRedelivered, clock.now() >= session.nextState {
                session.nextState = clock.now() + StreamReader.stateTime
                tellState(&session)
            }
        } catch {
            if error.number == JetStreamError.noConsumer { drop(&session, ConnectionFault(words: error.words, isSetting: false)) }
        }
    }
}
