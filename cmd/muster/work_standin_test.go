package main

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/muster-scale/muster/mustertest"
)

// standIns are the services of a cloud that a script runs beside.
type standIns struct {
	imds *mustertest.IMDS
	ecs  *mustertest.ECSAgent
	asg  *groups
	// table is a table of reports.
	table *mustertest.ReportTable
}

// ofAWS lets through what is signed with a key of AWS, and refuses keys of a queue.
func ofAWS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=aws-key/") {
			http.Error(w, `{"__type":"UnrecognizedClientException","message":"The security token included in the request is invalid."}`, http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// stored waits until the table has so many workers.
func (all *standIns) stored(ts *testscript.TestScript, want string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	found := ""
	for range 400 {
		all.table.Do(func(entries map[string]mustertest.Attributes) { found = strconv.Itoa(len(entries)) })
		if found == want {
			return
		}
		<-tick.C
	}
	ts.Fatalf("the table has %s workers, want %s, after %d puts", found, want, all.table.Calls("PutItem"))
}

// standIn is the command of scripts for the services of a cloud:
//
//	standin imds              serves instance metadata, and points AWS_EC2_METADATA_SERVICE_ENDPOINT at it
//	standin interrupt 6s      tells of an interruption so much later
//	standin target STATE      tells that the instance is moved to that state
//	standin groups            serves Auto Scaling, and points AWS_ENDPOINT_URL_AUTO_SCALING at it
//	standin acted ACTION      tells whether Auto Scaling was called for that action
//	standin ecs               serves the agent of a task, and points ECS_... at it
//	standin stop              makes the service stop the task
//	[!] standin protected     tells whether the task is protected
//	standin table             serves the table reports of DynamoDB, for the key of AWS alone
//	standin stored N          waits until the table has N workers
//	[!] standin acted ACTION  tells whether a call was made to the groups
func standIn(ts *testscript.TestScript, neg bool, args []string) {
	all := ts.Value("stand-ins").(*standIns)
	if len(args) == 0 {
		ts.Fatalf("usage: standin imds|interrupt|ecs|stop|protected")
	}
	switch args[0] {
	case "imds":
		all.imds = mustertest.NewIMDS(time.Now)
		server := httptest.NewServer(all.imds)
		ts.Defer(server.Close)
		ts.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL)
		ts.Setenv("AWS_EC2_METADATA_DISABLED", "")
	case "interrupt":
		ahead, err := time.ParseDuration(args[1])
		ts.Check(err)
		all.imds.Interrupt("terminate", time.Now().Add(ahead))
	case "target":
		all.imds.Target(args[1])
	case "groups":
		all.asg = new(groups)
		server := httptest.NewServer(all.asg)
		ts.Defer(server.Close)
		ts.Setenv("AWS_ENDPOINT_URL_AUTO_SCALING", server.URL)
	case "table":
		all.table = mustertest.NewReportTable("reports", 10)
		server := httptest.NewServer(ofAWS(all.table))
		ts.Defer(server.Close)
		ts.Setenv("AWS_ENDPOINT_URL_DYNAMODB", server.URL)
	case "stored":
		all.stored(ts, args[1])
	case "acted":
		if seen := all.asg.seen(); strings.Contains(seen, args[1]) == neg {
			ts.Fatalf("found the calls %s", seen)
		}
	case "ecs":
		all.ecs = mustertest.NewECSAgent(time.Now)
		server := httptest.NewServer(all.ecs)
		ts.Defer(server.Close)
		for name, value := range all.ecs.Environment(server.URL) {
			ts.Setenv(name, value)
		}
	case "stop":
		all.ecs.Stop()
	case "protected":
		if all.ecs.Protected() == neg {
			ts.Fatalf("the task is protected: %t, after the calls %+v", !neg, all.ecs.Calls())
		}
	default:
		ts.Fatalf("standin: found %q", args[0])
	}
}
