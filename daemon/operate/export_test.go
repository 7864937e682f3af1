package operate

// UntilBackup is untilBackup, for tests.
var UntilBackup = untilBackup
