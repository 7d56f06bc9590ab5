// Package sqlitefile adds to SQLite what a program needs that must not lose data, and must notice
// damage.
//
//   - check.go and codes.go explain SQLite's failures: a damaged file is repaired or replaced; a file
//     that the disk failed to read is left alone. [Check], [Code], [NoRoom] and [LostSync] tell these
//     apart.
//   - pages.go: [Seal] mounts a file system over another one that adds a checksum, a seal, to each
//     page. A changed bit then reads as SQLITE_CORRUPT.
//   - mark.go: a [Mark] is a small file beside a database with the position that its tables must have
//     reached. It detects a lost or old file, which has valid checksums.
//   - salvage.go and salvage_log.go: an [Image] reads the pages of a damaged file, and of its
//     write-ahead log, without SQLite, which stops at the first damage.
//   - shared.go: [Shared] opens small files that several processes write.
//
// How the parts work together is in queue/internal/storage (writing) and queue/check (reading damaged
// files); history uses them the same way.
//
// The package knows no tables of its users. The format of SQLite's files is documented at
// sqlite.org/fileformat2.html, to which the comments refer.
package sqlitefile

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// unread matches quick_check's text about a page that could not be read. A page beyond the end of the
// file has another text, so the disk is the cause, unless the code says otherwise.
var unread = regexp.MustCompile(`failed to get page|unable to get the page\. error code=(\d+)`)

// Unreadable is a failure to read a file. Its code is one of SQLite's I/O errors.
type Unreadable struct{ found string }

// Error says what could not be read.
func (u *Unreadable) Error() string { return "disk I/O error: " + u.found }

// Code is SQLite's result code for a read that failed.
func (u *Unreadable) Code() int { return CodeRead }

// Check examines the structure of the file that db has open, or of one table, and returns the first
// fault in SQLite's words; an empty text means no fault. An error, of type [*Unreadable] or SQLite's,
// means that the structure could not be examined.
func Check(ctx context.Context, db *sql.DB, table string) (damage string, err error) {
	subject := "1" // the first fault is enough
	if table != "" {
		subject = table
	}
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check("+subject+")").Scan(&found); err != nil {
		return "", fmt.Errorf("check the file: %w", err)
	}
	if found == "ok" {
		return "", nil
	}
	found = strings.TrimPrefix(found, "*** in database main ***\n")
	if m := unread.FindStringSubmatch(found); m != nil {
		if code, err := strconv.Atoi(m[1]); err != nil || code&0xff != CodeCorrupt {
			return "", fmt.Errorf("check the file: %w", &Unreadable{found})
		}
	}
	return found, nil
}
