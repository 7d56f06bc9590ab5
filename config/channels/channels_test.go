package channels_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/kinds"
)

// notified reads a configuration with the given list of channels.
func notified(list string) (*config.Config, error) {
	lookup := func(name string) (string, bool) { return "https://hooks.example.com/S3CRET", name == "HOOK" }
	return config.Parse("muster.yaml", []byte("version: 1\nnotify:\n"+list), lookup, kinds.Table().Config())
}

func TestChannelsHaveNamesAndDefaults(t *testing.T) {
	c, err := notified(`
  - webhook: {url: "${HOOK}", format: slack}
    only: [at_maximum, all_failing]
  - webhook: {url: "http://127.0.0.1:1/x"}
    retry: 0s
  - name: pager
    webhook: {format: pagerduty, key_file: key}
  - sns: {topic: "arn:aws:sns:eu-west-1:123456789012:alarms"}
  - smtp: {host: mail.example.com, from: a@example.com, to: [b@example.com]}
  - command: [./notify, --now]
`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range c.Notify {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, " "); got != "webhook webhook-2 pager sns smtp command" {
		t.Errorf("found the names %s", got)
	}
	if c.Notify[0].Retry != time.Hour || c.Notify[1].Retry != 0 {
		t.Errorf("retries %s and %s", c.Notify[0].Retry, c.Notify[1].Retry)
	}
	if first := c.Notify[0]; !first.Tells(incident.AtMaximum) || first.Tells(incident.CrashLoop) {
		t.Error("only does not select")
	}
	if !c.Notify[1].Tells(incident.CrashLoop) {
		t.Error("a channel without only is not told")
	}
}

func TestAWrongChannelIsAFaultWithoutItsSecret(t *testing.T) {
	for _, row := range [][2]string{
		{"  - {name: a}", "found no destination"},
		{"  - {webhook: {url: \"${HOOK}\"}, command: [x]}", "found webhook and command"},
		{"  - webhook: {}", "found no url"},
		{"  - webhook: {url: \"${HOOK}\", url_file: x}", "url and url_file"},
		{"  - webhook: {url: \"${HOOK}\", format: teams}", "json, slack, pagerduty"},
		{"  - webhook: {url: \"${HOOK}\", key: \"${HOOK}\"}", "a routing key"},
		{"  - webhook: {format: pagerduty}", "found no key"},
		{"  - webhook: {url: \"http://example.com/x\"}", "over https"},
		{"  - webhook: {url: \"${HOOK}\", headers: [\"no colon ${HOOK}\"]}", "\"Name: value\""},
		{"  - sns: {topic: alarms}", "the ARN of a topic"},
		{"  - smtp: {from: a@example.com, to: [b@example.com]}", "found no host"},
		{"  - smtp: {host: h, from: x, to: [b@example.com]}", "an address"},
		{"  - smtp: {host: h, from: a@b.c, to: [\"B <b@c.d>\"]}", "an address"},
		{"  - smtp: {host: h, from: a@b.c, to: [b@c.d], username: u}", "only one of username"},
		{"  - smtp: {host: h, from: a@b.c, to: [b@c.d], username: u, password: p, starttls: false}",
			"without encryption"},
		{"  - command: []", "found no program"},
		{"  - {command: [x], only: [at_maximun]}", "did you mean \"at_maximum\"?"},
		{"  - {command: [x], name: a}\n  - {command: [y], name: a}", "the channel on line 3 has it"},
		{"  - {command: [x], retry: 48h}", "0s to 24h"},
	} {
		list, want := row[0], row[1]
		_, err := notified(list)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nfound %v, want %q", list, err, want)
			continue
		}
		if strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s\na fault shows a secret: %v", list, err)
		}
	}
}

// TestThePageShowsConfigurationsThatAreAllowed reads the lists of channels in docs/notices.md.
func TestThePageShowsConfigurationsThatAreAllowed(t *testing.T) {
	page, err := os.ReadFile("../../docs/notices.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")[1:]
	if len(blocks) < 2 {
		t.Fatalf("found %d configurations: the test looks in the wrong place", len(blocks))
	}
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if strings.HasPrefix(text, "   ") { // a block within a numbered step is indented
			text = strings.ReplaceAll("\n"+text, "\n   ", "\n")
		}
		if !strings.Contains(text, "version: 1") {
			text = "version: 1\n" + text
		}
		lookup := func(string) (string, bool) { return "https://hooks.example.com/x", true }
		if _, err := config.Parse("notices.md", []byte(text), lookup, kinds.Table().Config()); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}
