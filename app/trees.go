package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/tree/dynamotree"
	"github.com/muster-scale/muster/tree/sqlitetree"
)

// TreesFile is the file of a data directory that holds trees.
const TreesFile = "trees.db"

// TablePrefix tells a DynamoDB table from a file.
const TablePrefix = "dynamodb:"

// TreeStore is where trees are kept, as the commands need it.
type TreeStore interface {
	tree.Store
	io.Closer
	// Running returns the roots that run, at most so many. It may return others too, but none that skip knows.
	Running(ctx context.Context, limit int, skip func(id string) bool) ([]tree.Root, error)
}

// tableStore is a table, which needs no closing.
type tableStore struct {
	*dynamotree.Store
	io.Closer
}

// ErrTreesPlace means that what should name the place of trees names none.
var ErrTreesPlace = errors.New("allowed is a file or " + TablePrefix + "TABLE")

// OpenTrees opens the trees at a place: the path of a file, or dynamodb: and the name of a table. With make what is not
// there is made; else the error matches fs.ErrNotExist for a file, and a missing table shows at its first use. A table
// without a name is an error that matches [ErrTreesPlace].
func OpenTrees(ctx context.Context, place string, make bool) (TreeStore, error) {
	table, isTable := strings.CutPrefix(place, TablePrefix)
	if isTable {
		return openTable(ctx, table, make)
	}
	if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) && !make {
		return nil, err
	}
	s, err := sqlitetree.Open(place)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func openTable(ctx context.Context, table string, make bool) (TreeStore, error) {
	if table == "" {
		return nil, fmt.Errorf("open the trees: found %q, %w", TablePrefix, ErrTreesPlace)
	}
	cfg, err := awsapi.At(ctx, "", nil)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(cfg)
	if make {
		if err := dynamotree.Create(ctx, client, table); err != nil {
			return nil, err
		}
	}
	return tableStore{dynamotree.New(client, table), io.NopCloser(nil)}, nil
}
