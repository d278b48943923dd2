// stub
public struct Description: Sendable {}
public struct Settings {}
public struct Host: Sendable {}
public struct Batch: ~Copyable {}
