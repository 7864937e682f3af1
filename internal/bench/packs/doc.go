// Package packs has the tests of the shipped packs by chance: many states of random rows.
package packs
