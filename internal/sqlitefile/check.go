// Package sqlitefile knows what SQLite's failures mean. It tells a file that is damaged from one that the disk did not
// let us read: the first is to be repaired or replaced, the second must be left alone.
package sqlitefile

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// unread is what quick_check says of a page that it did not get. The number of a page that does not exist is said in
// other words, so the disk is the reason, unless the code says otherwise.
var unread = regexp.MustCompile(`failed to get page|unable to get the page\. error code=(\d+)`)

// Unreadable is a failure to read a file. Its code is one of SQLite's for input and output.
type Unreadable struct{ found string }

// Error says what could not be read.
func (u *Unreadable) Error() string { return "disk I/O error: " + u.found }

// Code is SQLite's result code for a read that failed.
func (u *Unreadable) Code() int { return CodeRead }

// Check reads the structure of the file that db has open, or of one of its tables, and returns the first thing found
// wrong, in SQLite's words; nothing is a file in order. An error, of type [*Unreadable] or SQLite's, says that nobody
// knows.
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
