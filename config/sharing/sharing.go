// Package sharing declares the key controllers of a configuration: where several controllers take turns, and where they
// keep the history.
//
// [Controllers] is what it states. The package decodes and checks; package app/sharing opens the stores.
package sharing

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/internal/pgurl"
)

// File is the store of controllers that take turns on one machine, with one data directory.
const File = "file"

// tablePrefix begins the name of a DynamoDB table.
const tablePrefix = "dynamodb:"

// maxName bounds the name of a controller, in bytes.
const maxName = 63

// Controllers says where controllers of equal configurations take turns. The zero value is a controller alone.
type Controllers struct {
	// Store is "file", "dynamodb:TABLE", the URL of a PostgreSQL database without a password, or empty.
	Store string
	// Name tells people which controller this is; empty means the name of the host.
	Name string
}

// Keys declares the keys.
func (c *Controllers) Keys() []keys.Key {
	return []keys.Key{
		keys.Text("store", &c.Store, "where controllers take turns and keep the history: file for one machine, "+
			"dynamodb:TABLE, or postgres://USER@HOST/DATABASE, whose password is in PGPASSWORD or PGPASSFILE").
			Required().Check(checkStore),
		keys.Text("name", &c.Name, "the name of this controller, for people; the name of the host by default").
			Check(checkName),
	}
}

// Table returns the DynamoDB table of the store; empty for another store.
func (c Controllers) Table() string {
	table, _ := strings.CutPrefix(c.Store, tablePrefix)
	if table == c.Store {
		return ""
	}
	return table
}

// Database returns the URL of the PostgreSQL database of the store; empty for another store.
func (c Controllers) Database() string {
	if strings.HasPrefix(c.Store, "postgres://") || strings.HasPrefix(c.Store, "postgresql://") {
		return c.Store
	}
	return ""
}

// Several tells whether controllers of several machines share the fleets.
func (c Controllers) Several() bool { return c.Table() != "" || c.Database() != "" }

// Text returns the store without what is for this machine alone, for people.
func (c Controllers) Text() string {
	if u, err := url.Parse(c.Database()); err == nil && c.Database() != "" {
		return "postgres://" + u.Host + u.Path
	}
	return c.Store
}

// checkStore checks the form of the store. No message has a text with a password.
func checkStore(s *keys.Source, path, store string) {
	c := Controllers{Store: store}
	const allowed = "allowed is file, dynamodb:TABLE, or postgres://USER@HOST/DATABASE"
	switch {
	case !s.Has(path), store == File:
	case c.Database() != "":
		if _, err := pgurl.Parse(store, os.Getenv); err != nil {
			s.Fault(path, err.Error(), "")
		}
	case c.Table() != "":
		if n := c.Table(); len(n) < 3 || len(n) > 255 || !keys.Consists(n, "-_.") {
			s.Fault(path, fmt.Sprintf("found the table %s, allowed are 3 to 255 letters, digits, hyphens, underscores "+
				"and dots", keys.Quote(n)), "")
		}
	default:
		s.Fault(path, fmt.Sprintf("found %s, %s", keys.Quote(store), allowed), "")
	}
}

func checkName(s *keys.Source, path, name string) {
	if s.Has(path) && (name == "" || len(name) > maxName || !keys.Consists(name, "-_.")) {
		s.Fault(path, fmt.Sprintf("found %s, allowed are 1 to %d letters, digits, hyphens, underscores and dots",
			keys.Quote(name), maxName), "")
	}
}
