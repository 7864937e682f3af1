package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// limitData bounds what this process has to about most bytes, and keeps it from leaving them behind as a file. What is bounded is its data
// segment, because no program in Go starts within as little address space; of that it has mapped much already that it never touches.
func limitData(most int) error {
	pages := statm("self")
	limit := uint64(most - pages[1] + pages[5])
	return errors.Join(
		syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}),
		syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}),
	)
}

// resident is the memory that a process has, 0 if that is not known.
func resident(pid int) int { return statm(strconv.Itoa(pid))[1] }

// statm is what the system says of the memory of a process, in bytes: in all, resident, shared, text, 0, data. It is all 0 if not known.
func statm(process string) (bytesOf [6]int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%s/statm", process))
	if err != nil {
		return bytesOf // it has ended
	}
	for i, field := range bytes.Fields(text)[:len(bytesOf)] {
		pages, _ := strconv.Atoi(string(field)) // digits
		bytesOf[i] = pages * os.Getpagesize()
	}
	return bytesOf
}
