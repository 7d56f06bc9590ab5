// Package sharing opens what several controllers share: their history, and where they agree who leads which fleet.
//
//	place, err := sharing.Open(ctx, c.Controllers, c.AWS)
//	defer place.History.Close()
//
// A controller alone, and controllers that take turns on one machine, share nothing that needs opening. [OpenPast]
// opens the history of any configuration, for the commands that read it.
package sharing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	stated "github.com/muster-scale/muster/config/sharing"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/history/pghistory"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/leader"
	"github.com/muster-scale/muster/leader/dynamolease"
	"github.com/muster-scale/muster/leader/pglease"
)

// History is a history as an App uses it.
type History interface {
	muster.History
	Reader
	Keeper
}

// Reader finds single records.
type Reader interface {
	Last(ctx context.Context, fleet string, n int, kinds ...muster.RecordKind) ([]muster.Record, error)
	Before(ctx context.Context, fleet string, seq int64, n int, kinds ...muster.RecordKind) ([]muster.Record, error)
	Get(ctx context.Context, fleet string, seq int64) (muster.Record, error)
}

// Keeper knows the streams, removes old records, and closes.
type Keeper interface {
	io.Closer
	Fleets(ctx context.Context) ([]string, error)
	Prune(ctx context.Context, now time.Time, keep time.Duration) (history.Pruned, error)
}

// Place is what controllers share.
type Place struct {
	History History
	Leases  leader.Store
}

// leaseCalls are the calls of AWS in a second for leases. They have a budget of their own, so that a controller does
// not lose its fleets because their calls wait for each other.
const leaseCalls = 200

// Open opens the place of several controllers; it is an error for others. PostgreSQL is called, to make the tables;
// DynamoDB is not.
func Open(ctx context.Context, c stated.Controllers, a config.AWS) (Place, error) {
	if url := c.Database(); url != "" {
		h, err := pghistory.Open(ctx, url)
		if err != nil {
			return Place{}, err
		}
		return Place{h, pglease.New(h.DB())}, nil
	}
	table := c.Table()
	if table == "" {
		return Place{}, fmt.Errorf("open the store of controllers: found %q, which several machines cannot share",
			c.Text())
	}
	client := func(perSecond float64, burst int) (*dynamodb.Client, error) {
		account, err := awsapi.Open(ctx, awsapi.Options{Region: a.Region, PerSecond: perSecond, Burst: burst})
		if err != nil {
			return nil, err
		}
		cfg, err := account.Region("")
		return dynamodb.NewFromConfig(cfg), err
	}
	records, err := client(a.CallsPerSecond, a.Burst)
	if err != nil {
		return Place{}, fmt.Errorf("open the history in the DynamoDB table %s: %w", table, err)
	}
	leases, err := client(leaseCalls, leaseCalls)
	if err != nil {
		return Place{}, fmt.Errorf("open the leases in the DynamoDB table %s: %w", table, err)
	}
	h, err := dynamohistory.New(records, table)
	if err != nil {
		return Place{}, err
	}
	return Place{h, dynamolease.New(leases, table)}, nil
}

// Past is a history to read, which controllers may be writing.
type Past interface {
	io.Closer
	Read(ctx context.Context, fleet string, since time.Time, yield func(muster.Record) bool) error
	Fleets(ctx context.Context) ([]string, error)
}

// ErrNoPast means that no controller has kept a history yet.
var ErrNoPast = errors.New("there is no history yet")

// OpenPast opens the history of a configuration for reading: the one that several controllers share, or the file at
// path. Its error is [ErrNoPast] if there is no such file.
func OpenPast(ctx context.Context, c *config.Config, path string) (Past, error) {
	if c.Controllers.Several() {
		place, err := Open(ctx, c.Controllers, c.AWS)
		if err != nil {
			return nil, err
		}
		return place.History, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w in %s; muster up keeps it there", ErrNoPast, filepath.Dir(path))
	}
	// A reader never blocks the writer of a running muster up.
	h, err := history.OpenReadOnly(path)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Check reads the place of several controllers, without a change, and returns the names of those that live now.
func Check(ctx context.Context, c stated.Controllers, a config.AWS) ([]string, error) {
	var leases leader.Store
	if url := c.Database(); url != "" {
		db, err := pghistory.Connect(url)
		if err != nil {
			return nil, err
		}
		defer db.Close()
		if err := db.PingContext(ctx); err != nil {
			return nil, fmt.Errorf("connect to PostgreSQL at %s: %w", c.Text(), err)
		}
		leases = pglease.New(db)
	} else {
		place, err := Open(ctx, c, a)
		if err != nil {
			return nil, err
		}
		leases = place.Leases
	}
	board, err := leases.Read(ctx, false)
	var names []string
	for _, s := range board.Sessions {
		names = append(names, s.Name)
	}
	return names, err
}
