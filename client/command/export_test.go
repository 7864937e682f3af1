package command

import (
	"github.com/contextd/contextd/internal/cli"
)

// ToFailure is what an error means for the exit code of ctx.
func ToFailure(err error) *cli.Failure { return toFailure(err, nil) }

// SetVersion is the version that a Factory takes ctx for.
func (f *Factory) SetVersion(v string) { f.service.release.own = v }
