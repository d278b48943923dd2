// What the server asks of the one who answers its requests. Every function is called on the server's thread.

public protocol HTTPHandler: AnyObject, Sendable {
    /// A connection was accepted.
    func opened(_ connection: HTTPConnection)
    /// A connection ends. Its descriptor is still open.
    func closed(_ connection: HTTPConnection)
    /// The head of a request was read. Returns true if the body is wanted, and false after `HTTPServer.reply` with `isLast`.
    func began(_ connection: HTTPConnection) -> Bool
    /// A piece of the body has arrived. Returns false if the connection must end without an answer.
    func received(_ connection: HTTPConnection, _ piece: UnsafeRawBufferPointer) -> Bool
    /// The body is complete. The handler replies now, or calls `HTTPServer.resume` later from any thread.
    func completed(_ connection: HTTPConnection)
    /// The request was resumed. The handler replies now.
    func resumed(_ connection: HTTPConnection)
    /// The head or the framing of the body is broken. The handler replies now, with `isLast`.
    func broke(_ connection: HTTPConnection, _ fault: FramingFault)
    /// The reply to the request was sent, or the connection was lost. `isLast` is true if the connection takes no more requests.
    func ended(_ connection: HTTPConnection, isLast: Bool)
    /// Every connection that had something to do has had its turn. What the handler has gathered is due now. It may be called often.
    func roundEnded()
    /// The system has no descriptor for a connection that waits. It may be called often.
    func lacksDescriptors()
}
