// Package groups models EC2 Auto Scaling groups: the lifecycle of their instances with hooks and warm pools, launches
// over zones, types and markets, the choice of instances to end, instance refreshes, and metrics of groups.
//
// [AutoScaling] has a method for each action of the API, but for scaling policies, which package scaling has. Others
// see a group as a [Size] and its instances as [Machine]s, and are told by [Listeners] what happens; groups know
// nothing of clusters, policies or alarms.
package groups
