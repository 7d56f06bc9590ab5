package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/worker/dynamoreport"
)

// tables are the tables of reports that the fleets of one set-up read, so that those of one table share its limit.
type tables struct {
	mu  sync.Mutex
	all map[[2]string]*dynamoreport.Reader
}

// reader returns the reader of a table in a region; an empty one is the account's.
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

// openReports returns a table and the region where it is.
func openReports(account *awsapi.Account, region, name string) (*dynamoreport.Table, string, error) {
	cfg, err := account.Region(region)
	if err != nil {
		return nil, "", fmt.Errorf("read the reports of workers in the table %s of DynamoDB: %w", name, err)
	}
	table, err := dynamoreport.New(dynamodb.NewFromConfig(cfg), name)
	return table, cfg.Region, err
}

// storedReports returns what reads the reports that the workers of a fleet keep in a table.
func (l *local) storedReports(ctx context.Context, c config.Fleet) (func(context.Context) ([]muster.Report, error), error) {
	if err := l.amazon.open(ctx, l.config.AWS); err != nil {
		return nil, err
	}
	r, err := l.amazon.tables.reader(l.amazon.account, homeOf(c), c.ReportsTable)
	if err != nil {
		return nil, err
	}
	f := r.Follow(c.Name)
	return func(ctx context.Context) ([]muster.Report, error) { return f.Reports(ctx, time.Now()) }, nil
}

// reports looks for what the workers of a fleet keep in its table.
func (e *exam) reports(ctx context.Context, f config.Fleet) {
	if f.ReportsTable == "" {
		return
	}
	table, region, err := openReports(e.local.amazon.account, homeOf(f), f.ReportsTable)
	if err != nil {
		e.find(f.Name, "reports", levelWrong, "%v", err)
		return
	}
	entries, err := table.Read(ctx, f.Name, time.Now())
	if entries == nil && err != nil {
		err = awsapi.Explain("read the reports of workers in the table "+f.ReportsTable+" of DynamoDB", region, err)
		e.find(f.Name, "reports", levelWrong, "%v", err)
		return
	}
	var newest time.Time
	for _, entry := range entries {
		if entry.Report.SentAt.After(newest) {
			newest = entry.Report.SentAt
		}
	}
	switch {
	case err != nil:
		e.find(f.Name, "reports", levelWrong, "%v", err)
	case len(entries) == 0:
		e.find(f.Name, "reports", levelNote, "the table %s has none of this fleet: start its workers with muster work --report dynamodb:%s --fleet %s", f.ReportsTable, f.ReportsTable, f.Name)
	default:
		e.find(f.Name, "reports", levelOK, "the table %s has %s of this fleet, the newest of %s", f.ReportsTable, cmp.Or(muster.Plural(len(entries), "worker"), "none"), newest.UTC().Format(time.RFC3339))
	}
}
