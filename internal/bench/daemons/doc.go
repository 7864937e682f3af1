// Package daemons has the tests that run daemons beside others: behind the proxies of the handbook, and as nodes of one cluster that lose
// each other and the database.
package daemons
