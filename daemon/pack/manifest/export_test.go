package manifest

import "os/exec"

// Command is the process of a child that has one.
func (c *Child) Command() *exec.Cmd { return c.process.cmd }

// AwaitEnd waits until the process has ended.
func (c *Child) AwaitEnd() { <-c.process.done }
