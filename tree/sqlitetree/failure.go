package sqlitetree

import (
	"errors"
	"fmt"
)

// Result codes of SQLite; the low byte is the primary code.
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26

	codeSync          = codeIO | 4<<8
	codeSyncDirectory = codeIO | 5<<8
)

// errDamaged means that the file's content cannot be what was written.
var errDamaged = errors.New("the file is damaged")

// coded is an error with a result code of SQLite.
type coded interface {
	error
	Code() int
}

func code(err error) int {
	if c, ok := errors.AsType[coded](err); ok {
		return c.Code()
	}
	return 0
}

// explain says what was attempted on which file, and what a person can do about the failure.
func explain(path, attempted string, err error) error {
	what := fmt.Sprintf("%s: trees in %s", attempted, path)
	switch code(err) & 0xff {
	case codeFull:
		return fmt.Errorf("%s: the disk has no room, nothing was kept; free some, the work is tried again: %w", what, err)
	case codeIO:
		return fmt.Errorf("%s: the disk failed, nothing was acknowledged; look into the system's log: %w", what, err)
	case codeCorrupt, codeNotADB:
		return fmt.Errorf("%s: %w: %w; move it away, `sqlite3 FILE .recover` may save its content", what, errDamaged, err)
	case codeReadOnly, codeCantOpen:
		return fmt.Errorf("%s: the file or its directory cannot be opened for this; check that they belong to you and are writable: %w", what, err)
	case codeBusy:
		return fmt.Errorf("%s: other processes have been writing for more than %s; try again: %w", what, busyTimeout, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// lostSync tells whether err means that the disk may have dropped what it had accepted. Whatever it says afterwards about
// the same pages cannot be believed, so nothing may be acknowledged any more.
func lostSync(err error) bool {
	c := code(err)
	return c == codeSync || c == codeSyncDirectory
}
