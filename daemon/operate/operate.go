// Package operate is what a running daemon does for its operator: the Scheduler of its jobs, Backups on a schedule, Alerts when flags go
// up, and the Health that load balancers and the operator ask for.
//
// It decides when and whether; the work is done elsewhere. Its neighbours are nouns of their own, with users beside a running daemon:
// daemon/backup makes, reads and verifies backups, also for the operator's commands; daemon/admin is the operator's socket and its client;
// daemon/metrics counts; daemon/mail sends what anybody has to be sent, sign-ins above all.
package operate
