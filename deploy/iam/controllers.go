package iam

import (
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kind"
)

// controllerPermissions returns what a controller needs for the table that it shares with others: it keeps the history
// and the leases. A transaction of DynamoDB needs the permissions of its writes.
func controllerPermissions(at kind.Place, c *config.Config) []kind.Permission {
	if c.Controllers.Table() == "" {
		return nil
	}
	table := []string{at.ARN("dynamodb", c.AWS.Region, "table/"+c.Controllers.Table())}
	all := kind.Allow([]kind.Mode{kind.ModeUp, kind.ModePlan, kind.ModeAdvise}, table, "dynamodb:GetItem")
	all = append(all, kind.Allow([]kind.Mode{kind.ModeUp, kind.ModePlan, kind.ModeDoctor, kind.ModeAdvise}, table,
		"dynamodb:Query")...)
	return append(all,
		kind.AllowWrites([]kind.Mode{kind.ModeUp}, table, "dynamodb:DeleteItem", "dynamodb:PutItem",
			"dynamodb:UpdateItem")...)
}

// advisePermissions returns what muster advise --cloudwatch needs for the fleet f: it reads the CPUUtilization of a
// group or a service. IAM cannot restrict that to metrics.
func advisePermissions(f config.Fleet) []kind.Permission {
	if at := f.Facts().Tracked; at.Group == "" && at.Service == "" {
		return nil
	}
	return kind.Allow([]kind.Mode{kind.ModeAdvise}, nil, "cloudwatch:GetMetricData")
}
