package backup

import (
	"context"
	"io"
	"time"
)

// Directory is a data directory whose lock this process has.
type Directory struct {
	Path string
	Now  func() time.Time
}

// Look says how the databases stand, as the function of that name.
func (d Directory) Look(ctx context.Context, tables bool) ([]Database, error) {
	return Look(ctx, d.Path, tables)
}

// Verify checks everything, as the function of that name.
func (d Directory) Verify(ctx context.Context) (Report, error) { return Verify(ctx, d.Path) }

// BackUp writes a backup of this moment to w, as the function of that name.
func (d Directory) BackUp(ctx context.Context, w io.Writer) error {
	_, err := BackUp(ctx, d.Path, d.Now(), w)
	return err
}
