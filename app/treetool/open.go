package treetool

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/dynamotree"
	"github.com/muster-scale/muster/tree/runner"
)

// Trees locates the trees that a command works on.
type Trees struct {
	// Place locates the data directory, and muster up for the keys of its queue.
	Place client.Place
	// Path is the file of the trees, or dynamodb: and the name of a table; empty for the file of the data directory.
	Path string
}

// open opens the trees. With make it creates a missing store. A missing file without make is an error about the
// request: the name is probably wrong.
func (f Trees) open(ctx context.Context, make bool) (app.TreeStore, error) {
	path := f.Path
	if path == "" {
		c, err := f.Place()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(c.Data, app.TreesFile)
	}
	s, err := app.OpenTrees(ctx, path, make)
	if errors.Is(err, app.ErrTreesPlace) {
		return nil, misuse.Setting("trees", "found %q, %w", path, app.ErrTreesPlace)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = misuse.Errorf("%s holds no trees; submit one, or name the file with --trees or the configuration "+
			"with -f",
			path)
	}
	return s, err
}

// With opens the trees, calls do and closes them. With make it creates a missing store. The error says what to do about
// a refused operation.
func (f Trees) With(ctx context.Context, make bool, do func(tree.Store, *runner.Operator) error) error {
	store, err := f.open(ctx, make)
	if err != nil {
		return err
	}
	sender := &runner.SQSSender{Client: func(ctx context.Context, queue string) (*awssqs.Client, error) {
		return client.SQS(ctx, f.Place, queue)
	}}
	// The operator announces nothing here: workers announce completions.
	err = do(store, runner.NewOperator(store, sender, nil, slog.New(slog.DiscardHandler)))
	return errors.Join(explain(err), store.Close())
}

// explain says what a person can do about a refused operation.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tree.ErrNoRoot):
		return misuse.Errorf("%w; muster tree status lists the existing ones", err)
	// These already say what to do, and are no errors of SQS.
	case errors.Is(err, tree.ErrState), dynamotree.Is(err):
		return err
	}
	return client.Explain(err)
}

// NewID names a tree by the time; random digits tell trees of the same second apart.
func NewID(at time.Time) string {
	var chance [4]byte
	rand.Read(chance[:]) // never fails
	return at.UTC().Format("20060102-150405-") + hex.EncodeToString(chance[:])
}
