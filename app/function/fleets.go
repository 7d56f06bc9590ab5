package function

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/app/opening"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/history/dynamohistory"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/kinds/remote"
)

// atOnce bounds the fleets that one invocation works on at the same time.
const atOnce = 16

// sized is a fleet that was opened.
type sized struct {
	config config.Fleet
	ports  *kind.Ports
	loop   *loop.Loop
	// prepared is true once the settings of resources such as a warm pool were applied.
	prepared bool
}

// open opens fleets with one history. It makes no call.
func (e environment) open(ctx context.Context, h *kind.Host, fleets []config.Fleet, past muster.History) ([]*sized,
	error) {
	table := remote.Table()
	trees, err := e.trees(ctx, h)
	if err != nil {
		return nil, err
	}
	var all []*sized
	for _, c := range fleets {
		if facts := c.Facts(); facts.Answered || facts.Reported && c.ReportsTable == "" {
			return nil, fmt.Errorf("open the fleet %s: its workers report to a controller that answers, and a "+
				"function cannot; state reports: none below %s, and reports_from if the workers write their reports "+
				"into a table",
				c.Name, facts.Key)
		}
		s, err := opening.Settings(c)
		if err != nil {
			return nil, err
		}
		s.Trees = trees != nil && len(c.Queues) > 0
		members, err := table.MembersOf(c)
		if err != nil {
			return nil, err
		}
		ports, err := members.Open(ctx, h, c, nil)
		if err != nil {
			return nil, fmt.Errorf("open the fleet %s: %w", c.Name, err)
		}
		o, err := opening.Loop(ctx, table, h, c, s, ports)
		if err != nil {
			return nil, fmt.Errorf("open the fleet %s: %w", c.Name, err)
		}
		o.History, o.Logger = past, e.Logger
		if s.Trees {
			o.Trees = trees(c.Queues)
		}
		all = append(all, &sized{config: c, ports: ports, loop: loop.New(o)})
	}
	return all, nil
}

// history returns the history that the environment names; nil when it names none. The table is in the region of the
// account.
func (e environment) history(ctx context.Context, h *kind.Host) (muster.History, error) {
	if e.History != nil {
		return e.History, nil
	}
	place := e.text(VariableHistory)
	if place == "" {
		return nil, nil
	}
	table, ok := strings.CutPrefix(place, tablePrefix)
	if !ok {
		return nil, fmt.Errorf("found %s=%q, allowed is %sTABLE", VariableHistory, place, tablePrefix)
	}
	account, err := h.Account(ctx)
	if err != nil {
		return nil, err
	}
	cfg, err := account.Region("")
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	return dynamohistory.New(dynamodb.NewFromConfig(cfg), table)
}

// forgetful is the history of a function that only reads, and of which nothing is kept.
type forgetful struct{}

// errForgetful is the failure of every write.
var errForgetful = errors.New("this function keeps no history")

// Begin implements [muster.History].
func (forgetful) Begin(context.Context, string) (muster.Position, error) {
	return muster.Position{}, errForgetful
}

// Append implements [muster.History].
func (forgetful) Append(context.Context, string, muster.Position, ...muster.Record) (muster.Position, error) {
	return muster.Position{}, errForgetful
}

// Read implements [muster.History].
func (forgetful) Read(context.Context, string, time.Time, func(muster.Record) bool) error { return nil }
