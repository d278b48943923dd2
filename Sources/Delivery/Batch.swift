// stub
public final class Batch: Sendable {}
