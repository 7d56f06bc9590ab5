package iam

import (
	"slices"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// This file derives the permissions of the functions of muster-lambda. A function runs the code of a command, so it
// needs what that command needs of the fleet, or a part of it.

// functionPermissions returns all, the permissions of the commands for the fleet f, with the modes of the functions
// added, and with what only functions need. history is the table of their history; empty for none.
func functionPermissions(at kind.Place, f config.Fleet, all []kind.Permission, history string) []kind.Permission {
	for i := range all {
		all[i].Modes = append(slices.Clone(all[i].Modes), functionsWith(all[i])...)
		if f.Facts().Tracked.Group != "" && all[i].Action != "dynamodb:Query" {
			// The hook of a group's instance reads the reports of its workers and nothing else.
			all[i].Modes = slices.DeleteFunc(all[i].Modes, func(m kind.Mode) bool { return m == kind.ModeHook })
		}
	}
	for _, q := range f.Queues {
		if q.Remote {
			all = append(all, kind.AllowWrites([]kind.Mode{kind.ModeSend}, []string{at.ARN("sqs", q.Region, q.Name)},
				"sqs:SendMessage")...)
		}
	}
	if f.Facts().Tracked.Group != "" && f.ReportsTable != "" {
		all = append(all, kind.AllowWrites([]kind.Mode{kind.ModeHook}, group(at, f, ""),
			"autoscaling:CompleteLifecycleAction", "autoscaling:RecordLifecycleActionHeartbeat")...)
	}
	if history == "" {
		return all
	}
	table := tableARN(at, f, strings.TrimPrefix(history, "dynamodb:"))
	steps := []kind.Mode{kind.ModeStep, kind.ModeEvent}
	reads := append(steps, kind.ModePublishMetric, kind.ModeSetTarget, kind.ModeHook)
	all = append(all, kind.Allow(reads, table, "dynamodb:GetItem", "dynamodb:Query")...)
	return append(all, kind.AllowWrites(steps, table, "dynamodb:PutItem", "dynamodb:UpdateItem")...)
}

// functionsWith returns the functions that need a permission of a command. A step needs what muster up needs, and each
// of the two functions of a dynamic target a part of what muster publish needs.
func functionsWith(p kind.Permission) (modes []kind.Mode) {
	if slices.Contains(p.Modes, kind.ModeUp) {
		modes = append(modes, kind.ModeStep, kind.ModeEvent)
	}
	if !slices.Contains(p.Modes, kind.ModePublish) {
		return modes
	}
	switch {
	case p.Action == "cloudwatch:PutMetricData":
		return append(modes, kind.ModePublishMetric)
	case p.Write || !slices.Contains(p.Modes, kind.ModePlan):
		// The reads that plan does not make are those of the scaling policy.
		return append(modes, kind.ModeSetTarget)
	case p.Action == "dynamodb:Query":
		modes = append(modes, kind.ModeTerminate)
	}
	return append(modes, kind.ModePublishMetric, kind.ModeSetTarget, kind.ModeHook)
}
