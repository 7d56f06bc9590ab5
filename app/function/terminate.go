package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/muster-scale/muster/app/opening"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/worker/dynamoreport"
	"github.com/muster-scale/muster/worker/protocol"
)

const (
	// readWithin bounds the read of the reports. Auto Scaling waits 2 s for the whole answer.
	readWithin = 1200 * time.Millisecond
	// freshFor is how old the report of an idle worker may be. Workers write one every ten to fifteen seconds.
	freshFor = 45 * time.Second
	// leftFor is how old the last report of a worker may be that has its stop permit and has ended since.
	leftFor = 10 * time.Minute
	// ahead is how far the clock of a worker may be ahead.
	ahead = 10 * time.Second
)

// termination is what Auto Scaling asks: which of these instances may end, and how much has to end in each zone and
// market.
type termination struct {
	AutoScalingGroupName string
	CapacityToTerminate  []capacity
	Instances            []candidate
	Cause                string
}

// capacity is how much has to end in a zone and market.
type capacity struct {
	AvailabilityZone, InstanceMarketOption string
	Capacity                               int
}

// candidate is an instance that Auto Scaling would end.
type candidate struct{ InstanceID, AvailabilityZone, InstanceMarketOption string }

// Terminated is the answer to Auto Scaling: the instances that may end, in the order of the question. The group ends no
// instance while the list is empty, and asks again.
type Terminated struct {
	InstanceIDs []string
}

// groupReports is a group with the table of its workers' reports.
type groupReports struct {
	fleet config.Fleet
	table *dynamoreport.Table
}

// openTerminate opens the function terminate.
func openTerminate(ctx context.Context, e environment) (invocation, error) {
	c, fleets, err := e.fleets()
	if err != nil {
		return nil, err
	}
	protected := false
	switch found := e.text(VariableProtected); found {
	case "":
	case "instance":
		protected = true
	default:
		return nil, fmt.Errorf("found %s=%q, allowed are instance and nothing", VariableProtected, found)
	}
	host, groups := e.host(c), map[string]groupReports{}
	for _, f := range fleets {
		group := f.Facts().Tracked.Group
		if group == "" || f.ReportsTable == "" {
			continue
		}
		table, _, err := opening.Reports(ctx, host, f)
		if err != nil {
			return nil, err
		}
		groups[group] = groupReports{f, table}
	}
	if len(groups) == 0 {
		return nil, errors.New("found no fleet with asg and reports_from; the function reads there which workers are " +
			"idle")
	}
	return func(ctx context.Context, payload []byte) (any, error) {
		none := Terminated{InstanceIDs: []string{}}
		var ask termination
		if err := json.Unmarshal(payload, &ask); err != nil {
			return nil, fmt.Errorf("decode the question of Auto Scaling: %w", err)
		}
		logger := e.Logger.With("group", ask.AutoScalingGroupName, "cause", ask.Cause)
		g, ok := groups[ask.AutoScalingGroupName]
		if !ok {
			logger.Error("no fleet has the group, so no instance may end")
			return none, nil
		}
		ctx, stop := context.WithTimeout(ctx, readWithin)
		defer stop()
		now := time.Now()
		entries, err := g.table.Read(ctx, g.fleet.Name, now)
		if err != nil {
			// An entry that cannot be read may be that of a busy worker of any instance.
			logger.Error("the reports could not be read, so no instance may end", "error", err)
			return none, nil
		}
		may := Terminated{InstanceIDs: endable(ask, entries, protected, now)}
		logger.Info("instances that may end", "asked", len(ask.Instances), "reports", len(entries), "named",
			may.InstanceIDs)
		return may, nil
	}, nil
}

// endable returns the instances of the question all of whose workers have stopped for good, by their own words. With
// protected, the workers protect their instance while they are busy: then Auto Scaling offers no busy instance, so the
// fresh report of an idle worker suffices. An instance without reports is unknown, and never named.
//
// If a zone and market has too few such instances, none is named at all: Auto Scaling takes the rest of a short list
// from the others.
func endable(ask termination, entries []dynamoreport.Entry, protected bool, now time.Time) []string {
	workers := map[string][]protocol.Report{}
	for _, e := range entries {
		workers[e.Report.Member] = append(workers[e.Report.Member], e.Report)
	}
	ids, found := []string{}, map[[2]string]int{}
	for _, i := range ask.Instances {
		of := workers[i.InstanceID]
		may := len(of) > 0
		for _, r := range of {
			may = may && mayEnd(r, protected, now)
		}
		if may {
			ids = append(ids, i.InstanceID)
			found[[2]string{i.AvailabilityZone, i.InstanceMarketOption}]++
		}
	}
	for _, c := range ask.CapacityToTerminate {
		if found[[2]string{c.AvailabilityZone, c.InstanceMarketOption}] < c.Capacity {
			return []string{}
		}
	}
	return ids
}

// mayEnd tells whether a worker allows its instance to end.
func mayEnd(r protocol.Report, protected bool, now time.Time) bool {
	age := now.Sub(r.SentAt)
	switch {
	case r.Busy != 0 || age < -ahead:
		return false
	case r.State == protocol.Leaving:
		return age <= leftFor
	case protected && (r.State == protocol.Receiving || r.State == protocol.Idle):
		return age <= freshFor && !unprotected(r)
	}
	return false
}

// unprotected tells whether the worker has reported that it could not protect its instance.
func unprotected(r protocol.Report) bool {
	for _, i := range r.Incidents {
		if i.Kind == protocol.ProtectionFailed {
			return true
		}
	}
	return false
}
