// The list of all operations of a transform, in the order in which messages and the schema name them.

extension StepDeclaration {
    public static let all: [StepDeclaration] = [
        DropStep.declaration, SetStep.declaration, HashStep.declaration, KeepStep.declaration, RenameStep.declaration, MoveStep.declaration,
        DefaultStep.declaration, BinStep.declaration, RoundStep.declaration, IPStep.declaration, LimitStep.declaration,
        LowerStep.declaration, GeoStep.declaration, FlattenStep.declaration, ScrubStep.declaration, MaskStep.declaration,
    ]
}
