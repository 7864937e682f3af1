package daemon

// UntilBackup is untilBackup, for tests.
var UntilBackup = untilBackup
