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

// TablePrefix marks a place that is a DynamoDB table and not a file.
const TablePrefix = "dynamodb:"

// TreeStore is a store of trees that can be closed.
type TreeStore interface {
	tree.Store
	io.Closer
	// Running returns at most limit running roots. It may return ended ones too, but none that skip reports true for.
	Running(ctx context.Context, limit int, skip func(id string) bool) ([]tree.Root, error)
}

// tableStore is a DynamoDB table; closing it does nothing.
type tableStore struct {
	*dynamotree.Store
	io.Closer
}

// ErrTreesPlace means that a place of trees is neither a file nor a table.
var ErrTreesPlace = errors.New("allowed is a file or " + TablePrefix + "TABLE")

// OpenTrees opens the trees at place: the path of a file, or dynamodb: and the name of a table. With make, it creates
// what is missing. Without, a missing file is an error that matches fs.ErrNotExist, and a missing table shows at its
// first use. A table without a name is an error that matches [ErrTreesPlace].
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

// openTable opens a DynamoDB table with the AWS configuration of the environment. An existing table is not read here.
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
