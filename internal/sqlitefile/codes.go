package sqlitefile

import "errors"

// Result codes of SQLite. The primary ones have one byte; an extended one has its primary code as its low byte.
const (
	CodeError    = 1
	CodeBusy     = 5
	CodeReadOnly = 8
	CodeIO       = 10
	CodeCorrupt  = 11
	CodeFull     = 13
	CodeCantOpen = 14
	CodeNotADB   = 26

	CodeRead          = CodeIO | 1<<8
	CodeSharedSize    = CodeIO | 19<<8
	CodeSync          = CodeIO | 4<<8
	CodeSyncDirectory = CodeIO | 5<<8
)

// Code returns SQLite's result code of err, the extended one if SQLite gave it, or 0 if err has none.
func Code(err error) int {
	if c, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return c.Code()
	}
	return 0
}

// Primary returns the primary result code of err, or 0 when it has none.
func Primary(err error) int { return Code(err) & 0xff }

// NoRoom says whether err means that a disk is full. SQLite has a code of its own for a disk without
// room for the shared memory file beside the database.
func NoRoom(err error) bool { return Primary(err) == CodeFull || Code(err) == CodeSharedSize }

// LostSync says whether err means that the disk may have dropped data it had accepted. Later syncs of
// the same pages prove nothing, so nothing may be acknowledged any more.
func LostSync(err error) bool {
	c := Code(err)
	return c == CodeSync || c == CodeSyncDirectory
}
