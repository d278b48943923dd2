// The version of the program, as `--version`, the manual page, the status and the metrics show it.

public let version = "0.1.0"
