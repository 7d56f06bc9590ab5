package history

import (
	"errors"
	"fmt"

	"github.com/muster-scale/muster/internal/sqlitefile"
)

// errDamaged means that the structure of the file is broken.
var errDamaged = errors.New("the file is damaged")

// explain says what was attempted on which file, and what a person can do about the failure.
func explain(path, attempted string, err error) error {
	what := fmt.Sprintf("%s: history %s", attempted, path)
	if errors.Is(err, errDamaged) {
		return fmt.Errorf("%s: %w; %s", what, err, keepDamaged)
	}
	switch sqlitefile.Primary(err) {
	case sqlitefile.CodeFull:
		return fmt.Errorf("%s: %w: the disk has no room or the file has reached its bound, nothing was written; free the disk or keep less history, then try again: %w", what, ErrFull, err)
	case sqlitefile.CodeIO:
		return fmt.Errorf("%s: the disk failed, nothing was acknowledged; look into the system's log, and start again on a disk that works: %w", what, err)
	case sqlitefile.CodeCorrupt, sqlitefile.CodeNotADB:
		return fmt.Errorf("%s: %w: %w; %s", what, errDamaged, err, keepDamaged)
	case sqlitefile.CodeReadOnly, sqlitefile.CodeCantOpen:
		return fmt.Errorf("%s: the file or its directory cannot be opened for this; check that they belong to you and are writable: %w", what, err)
	case sqlitefile.CodeBusy:
		return fmt.Errorf("%s: another process has been writing for more than %s; end it, or try again: %w", what, busyTimeout, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

const keepDamaged = "move it away (`sqlite3 FILE .recover` may save its content) and start with a new one: the history is rebuilt as Muster runs"
