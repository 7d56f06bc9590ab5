package sqlitetree

import (
	"errors"
	"fmt"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// errDamaged means that the content of the file cannot have been written by this package.
var errDamaged = errors.New("the file is damaged")

// explain adds to an error what was attempted on which file, and what a person can do about it.
func explain(path, attempted string, err error) error {
	// The original error stays at the end of the chain: callers test it with errors.Is and sqlitefile.LostSync.
	what := fmt.Sprintf("%s: trees in %s", attempted, path)
	switch sqlitefile.Primary(err) {
	case sqlitefile.CodeFull:
		return fmt.Errorf("%s: the disk is full, nothing was stored; free some space, the work is repeated: %w", what,
			err)
	case sqlitefile.CodeIO:
		return fmt.Errorf("%s: the disk failed, nothing was acknowledged; read the system's log: %w", what, err)
	case sqlitefile.CodeCorrupt, sqlitefile.CodeNotADB:
		return fmt.Errorf("%s: %w: %w; move it away, `sqlite3 FILE .recover` may save its content", what, errDamaged,
			err)
	case sqlitefile.CodeReadOnly, sqlitefile.CodeCantOpen:
		return fmt.Errorf("%s: the file or its directory cannot be opened for this; check that they belong to you "+
			"and are writable: %w", what, err)
	case sqlitefile.CodeBusy:
		return fmt.Errorf("%s: other processes have been writing for more than %s; try again: %w", what, busyTimeout,
			err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
