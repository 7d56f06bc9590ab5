package iam

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// This file has the permissions of workers beyond their queue, and those for the tables of their reports.

// Flags are flags of muster work. Workers on other machines have them instead of keys of the configuration.
type Flags struct {
	// Reports are the values of --report that need a permission: cloudwatch, cloudwatch:NAMESPACE or dynamodb:TABLE.
	Reports []string
	// LifecycleHook and Protection tell that --lifecycle-hook or --protection instance is given.
	LifecycleHook, Protection bool
}

// check returns an error for a report that needs no permission or that no worker knows.
func (x Flags) check() error {
	for _, to := range x.Reports {
		if what, name, _ := strings.Cut(to, ":"); what != "cloudwatch" && (what != "dynamodb" || name == "") {
			return fmt.Errorf("--report: found %q, allowed is cloudwatch[:NAMESPACE] or dynamodb:TABLE", to)
		}
	}
	return nil
}

// workerPermissions returns what the workers of a fleet need besides their queues, and what reading their reports
// needs.
func workerPermissions(at kind.Place, f config.Fleet, flags Flags) []kind.Permission {
	work := []kind.Mode{kind.ModeWork}
	var all []kind.Permission
	for _, p := range f.Parts() {
		w := p.Workers
		all = append(all, reportPermissions(at, f, slices.Concat(w.Report, flags.Reports))...)
		if w.LifecycleHook != "" || flags.LifecycleHook {
			all = append(all, hookPermissions(at, f, w.Group)...)
		}
		if q := w.DeadLetter; q.Remote {
			all = append(all, kind.AllowWrites(work, []string{at.ARN("sqs", q.Region, q.Name)}, "sqs:SendMessage")...)
		}
	}
	if flags.Protection {
		all = append(all, kind.Allow(work, nil, "autoscaling:DescribeAutoScalingInstances")...)
		all = append(all, kind.AllowWrites(work, group(at, f, ""), "autoscaling:SetInstanceProtection")...)
	}
	if f.ReportsTable != "" {
		table := tableARN(at, f, f.ReportsTable)
		read := []kind.Mode{kind.ModeUp, kind.ModePlan, kind.ModePublish, kind.ModeDoctor}
		all = append(all, kind.Allow(read, table, "dynamodb:Query")...)
		all = append(all, kind.AllowWrites(work, table, "dynamodb:PutItem")...)
	}
	return all
}

// reportPermissions returns what reports to CloudWatch or to a table need.
func reportPermissions(at kind.Place, f config.Fleet, reports []string) []kind.Permission {
	var all []kind.Permission
	for _, to := range reports {
		switch what, name, _ := strings.Cut(to, ":"); what {
		case "cloudwatch":
			p := kind.AllowWrites([]kind.Mode{kind.ModeWork}, nil, "cloudwatch:PutMetricData")
			p[0].When = []kind.Condition{{Test: "StringEquals", Key: "cloudwatch:namespace",
				Value: cmp.Or(name, kind.DefaultNamespace)}}
			all = append(all, p...)
		case "dynamodb":
			all = append(all, kind.AllowWrites([]kind.Mode{kind.ModeWork}, tableARN(at, f, name),
				"dynamodb:PutItem")...)
		}
	}
	return all
}

// hookPermissions returns what the lifecycle hook of an instance needs. named is the group that the worker states.
func hookPermissions(at kind.Place, f config.Fleet, named string) []kind.Permission {
	work := []kind.Mode{kind.ModeWork}
	all := kind.Allow(work, nil, "autoscaling:DescribeLifecycleHooks")
	if named == "" {
		all = append(all, kind.Allow(work, nil, "autoscaling:DescribeAutoScalingInstances")...)
	}
	return append(all, kind.AllowWrites(work, group(at, f, named), "autoscaling:RecordLifecycleActionHeartbeat",
		"autoscaling:CompleteLifecycleAction")...)
}

// group returns the ARN of the group that an instance with workers is in: the named one, or that of the fleet. A worker
// of no known group may be in any.
func group(at kind.Place, f config.Fleet, named string) []string {
	name := cmp.Or(named, f.Facts().Tracked.Group, "*")
	return []string{at.ARN("autoscaling", kind.HomeOf(f), "autoScalingGroup:*:autoScalingGroupName/"+name)}
}

// tableARN returns the ARN of a table of reports.
func tableARN(at kind.Place, f config.Fleet, name string) []string {
	return []string{at.ARN("dynamodb", kind.HomeOf(f), "table/"+name)}
}
