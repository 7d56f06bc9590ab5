package opening

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

// tables are the readers of report tables. Fleets with the same table share one, and so its request limit.
type tables struct {
	mu  sync.Mutex
	all map[[2]string]*dynamoreport.Reader
}

// reader returns the reader of a table. An empty region is the account's.
func (t *tables) reader(account *awsapi.Account, region, name string) (*dynamoreport.Reader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.all[[2]string{region, name}]; r != nil {
		return r, nil
	}
	table, region, err := openReports(account, region, name)
	if err != nil {
		return nil, err
	}
	if t.all == nil {
		t.all = map[[2]string]*dynamoreport.Reader{}
	}
	r := dynamoreport.NewReader(table, region)
	t.all[[2]string{region, name}] = r
	return r, nil
}

// openReports opens a table and returns its region.
func openReports(account *awsapi.Account, region, name string) (*dynamoreport.Table, string, error) {
	cfg, err := account.Region(region)
	if err != nil {
		return nil, "", fmt.Errorf("read worker reports from the DynamoDB table %s: %w", name, err)
	}
	table, err := dynamoreport.New(dynamodb.NewFromConfig(cfg), name)
	return table, cfg.Region, err
}

// tablesOf returns the tables that all fleets of a host share.
func tablesOf(h *kind.Host) *tables { return kind.Shared(h, func() *tables { return &tables{} }) }

// storedReports returns a function that reads the reports of a fleet's workers from its table. Fleets that share a
// table share its reader, so that each reading serves all of them.
func storedReports(ctx context.Context, h *kind.Host, c config.Fleet) (func(context.Context) ([]protocol.Report, error),
	error) {
	account, err := h.Account(ctx)
	if err != nil {
		return nil, err
	}
	r, err := tablesOf(h).reader(account, kind.HomeOf(c), c.ReportsTable)
	if err != nil {
		return nil, err
	}
	f := r.Follow(c.Name)
	return func(ctx context.Context) ([]protocol.Report, error) { return f.Reports(ctx, time.Now()) }, nil
}

// Reports opens the table with the reports of a fleet's workers, and returns its region.
func Reports(ctx context.Context, h *kind.Host, c config.Fleet) (*dynamoreport.Table, string, error) {
	account, err := h.Account(ctx)
	if err != nil {
		return nil, "", err
	}
	return openReports(account, kind.HomeOf(c), c.ReportsTable)
}
