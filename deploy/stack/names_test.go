package stack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/deploy/stack"
	"github.com/muster-scale/muster/kinds"
)

// sqs begins the URLs of the queues of these tests.
const sqs = "https://sqs.eu-west-1.amazonaws.com/123456789012/"

// one returns a configuration with one fleet, whose workers may report.
func one(fleet string) string {
	return "version: 1\nlisten: {beyond: {api: '0.0.0.0:9335', cert: c, key: k, hosts: [muster.example.com]}}\n" +
		"fleets: [{max: 5, " + fleet + "}]"
}

// TestANameThatAWSWouldRefuseIsRefusedHere holds that a template never makes a name that is too long or made twice.
func TestANameThatAWSWouldRefuseIsRefusedHere(t *testing.T) {
	const tracked = "policy: {name: dynamic-backlog, acceptable: 12}, asg: {group: g, reports: none}, " +
		"delegate: {}, queue: '" + sqs + "a', name: "
	for want, text := range map[string]string{
		"would have a name of 65 characters, allowed are 64: choose a name for the fleet that has 49 at most": tracked +
			strings.Repeat("f", 50),
		"with 81 characters, allowed are 80": "name: a, asg: {group: g}, queue: '" + sqs +
			strings.Repeat("q", 76) + "'",
		"-dead.fifo, with 81 characters": "name: a, asg: {group: g}, queue: '" + sqs + strings.Repeat("q", 71) +
			".fifo'",
		"the queue work-dead of the configuration has the name": "name: a, asg: {group: g}, queues: ['" + sqs +
			"work', '" + sqs + "work-dead']",
		"run on instances that the configuration does not name": "name: a, queue: '" + sqs + "a', ecs: {cluster: c, " +
			"task_definition: t, network: {subnets: [subnet-1]}, capacity_providers: [{name: FARGATE, weight: 1}, " +
			"{name: mine, weight: 1}]}",
	} {
		_, err := stack.Make(parse(t, one(text)), kinds.Table(), "", stack.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{
		tracked + strings.Repeat("f", 49),
		"name: a, asg: {group: g}, queue: '" + sqs + strings.Repeat("q", 75) + "'",
	} {
		if _, err := stack.Make(parse(t, one(text)), kinds.Table(), "", stack.Options{}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNamesAreThoseThatECSTakes(t *testing.T) {
	for group, provider := range map[string]string{"hosts": "hosts", "ecs-hosts": "muster-web-2",
		"Fargate": "muster-web-2", "my hosts/blue": "muster-web-2", "awesome": "awesome"} {
		s, err := stack.Make(parse(t, one("name: web.2, queue: '"+sqs+"a', ecs: {cluster: c, service: s, capacity: "+
			"{group: '"+group+"', tasks_per_instance: 2}}")), kinds.Table(), "", stack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Cluster.Provider != provider || s.Group.Name != group {
			t.Errorf("the group %s has the provider %s, want %s", group, s.Cluster.Provider, provider)
		}
		if s.Cluster.Family != "web-2" {
			t.Errorf("found the family %s, want web-2: ECS takes no dots", s.Cluster.Family)
		}
	}
}

// TestAClusterHasTheProvidersOfItsTasks holds that every provider on which tasks are started belongs to the cluster.
func TestAClusterHasTheProvidersOfItsTasks(t *testing.T) {
	s, err := stack.Make(parse(t, one("name: a, queue: '"+sqs+"a', ecs: {cluster: c, task_definition: t, network: "+
		"{subnets: [subnet-1]}, capacity_providers: [{name: FARGATE_SPOT, weight: 3}, {name: FARGATE, base: 1, "+
		"weight: 1}]}")), kinds.Table(), "", stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"FARGATE_SPOT", "FARGATE"}; !slices.Equal(s.Cluster.Fargate, want) {
		t.Errorf("found the providers %v, want %v", s.Cluster.Fargate, want)
	}
	for ending, write := range writers() {
		text := string(write(s))
		if !strings.Contains(text, "CapacityProviders: [FARGATE_SPOT, FARGATE]") &&
			!strings.Contains(text, `capacity_providers = ["FARGATE_SPOT", "FARGATE"]`) {
			t.Errorf("%s does not associate both providers", ending)
		}
	}
}
