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
	all := kind.Allow([]kind.Mode{kind.ModeUp, kind.ModePlan}, table, "dynamodb:GetItem")
	all = append(all, kind.Allow([]kind.Mode{kind.ModeUp, kind.ModePlan, kind.ModeDoctor}, table, "dynamodb:Query")...)
	return append(all,
		kind.AllowWrites([]kind.Mode{kind.ModeUp}, table, "dynamodb:DeleteItem", "dynamodb:PutItem",
			"dynamodb:UpdateItem")...)
}
