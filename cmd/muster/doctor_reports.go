package main

import (
	"cmp"
	"context"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/awsapi"
)

// reports looks for what the workers of a fleet keep in its table.
func (e *exam) reports(ctx context.Context, f config.Fleet) {
	if f.ReportsTable == "" {
		return
	}
	table, region, err := e.aws.Reports(ctx, f)
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
