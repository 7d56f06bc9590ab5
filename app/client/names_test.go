package client_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
)

func TestOnlyWhatIsThereIsSuggested(t *testing.T) {
	var many []string
	for i := range 25 {
		many = append(many, fmt.Sprintf("queue-%d", i))
	}
	for _, row := range []struct {
		name  string
		names []string
		want  string
	}{
		{"jbos", []string{"dead", "jobs"}, `there is no queue "jbos"; there is dead, jobs; did you mean "jobs"?`},
		{"jobs", nil, `there is no queue "jobs"; there is none yet`},
		{"other", many, "and 5 more"},
	} {
		if err := client.NoQueue(row.name, row.names); !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
}

func TestAQueueIsFoundByItsNameOrItsURL(t *testing.T) {
	c := &config.Config{Listen: config.Listen{Queue: "127.0.0.1:9324"}}
	c.Fleets = []config.Fleet{{Queues: []config.QueueRef{{Name: "far",
		URL: "https://sqs.eu-west-1.amazonaws.com/1/far"}}}}
	place := func() (*config.Config, error) { return c, nil }
	for named, want := range map[string]string{
		"": "", "http://host/0/q": "http://host/0/q", "far": "https://sqs.eu-west-1.amazonaws.com/1/far",
		"near": "http://127.0.0.1:9324/000000000000/near",
	} {
		if got, err := client.QueueURL(place, named); got != want || err != nil {
			t.Errorf("%q is at %q (%v), want %q", named, got, err, want)
		}
	}
	if _, err := client.QueueURL(place, "no/name"); !misuse.Is(err) {
		t.Errorf("what can be no name gives the error %v", err)
	}
	if name, err := client.OwnQueueName(place, "http://127.0.0.1:9324/000000000000/near"); name != "near" ||
		err != nil {
		t.Errorf("found the queue %q (%v)", name, err)
	}
	if _, err := client.OwnQueueName(place, "http://elsewhere:1/000000000000/near"); !misuse.Is(err) {
		t.Errorf("a queue elsewhere gives the error %v", err)
	}
}
