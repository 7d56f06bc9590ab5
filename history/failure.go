package history

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// This file classifies failures. Every error of the package names the operation and the file, and says what to do.

// errDamaged means that the structure of the file is broken.
var errDamaged = errors.New("the file is damaged")

// errDisk means that the disk failed.
var errDisk = errors.New("the disk failed")

// errIncomplete means that the last records of the file may be missing: its mark counts more commits than its tables,
// or is lost.
var errIncomplete = errors.New("the file may lack its last records")

// explain adds to an error the operation, the file and what a person can do. SQLite reports some causes by its code and
// others, such as a full disk, by the system's error, so both are asked.
func explain(path, attempted string, err error) error {
	what := fmt.Sprintf("%s: history %s", attempted, path)
	switch {
	case errors.Is(err, errDamaged):
		return fmt.Errorf("%s: %w; %s", what, err, keepDamaged)
	case errors.Is(err, errIncomplete):
		return fmt.Errorf("%s: %w; put back all of its files, %s, %[3]s-wal and %[3]s-mark; or, to go on without "+
			"what is missing, empty the last one (`: > %[3]s-mark`)", what, err, path)
	}
	if sqlitefile.NoRoom(err) || errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%s: %w: the disk has no room or the file has reached its bound, nothing was written; free "+
			"the disk or keep less history, then try again: %w", what, ErrFull, err)
	}
	switch code := sqlitefile.Primary(err); {
	case code == sqlitefile.CodeIO || errors.Is(err, errDisk):
		return fmt.Errorf("%s: the disk failed, nothing was acknowledged; read the system's log, and start "+
			"again on a disk that works: %w", what, err)
	case code == sqlitefile.CodeCorrupt || code == sqlitefile.CodeNotADB:
		return fmt.Errorf("%s: %w: %w; %s", what, errDamaged, err, keepDamaged)
	case code == sqlitefile.CodeReadOnly || code == sqlitefile.CodeCantOpen:
		return fmt.Errorf("%s: the file or its directory cannot be opened for this; check that they belong to you "+
			"and are writable: %w", what, err)
	case code == sqlitefile.CodeBusy:
		return fmt.Errorf("%s: another process has been writing for more than %s; end it, or try again: %w", what,
			busyTimeout, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// keepDamaged is what a person can do about a damaged file.
const keepDamaged = "move it away, with the files -wal and -mark of the same name (`sqlite3 FILE .recover` may save " +
	"its content), and start with a new one: the history is rebuilt as Muster runs"
