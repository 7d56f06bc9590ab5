package event_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/muster-scale/muster/event"
)

// example is a section of docs/events.md that shows a rule of EventBridge and an event.
type example struct {
	title   string
	pattern map[string]any
	event   map[string]any
	text    string
}

// examples reads the page. In each section the first JSON text with a list as detail-type is the rule, the one with a
// text the event. All JSON texts of the page must parse.
func examples(t *testing.T) (all []example) {
	t.Helper()
	page, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^ *```json\n(.*?)^ *```$")
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		x := example{title: title}
		for _, b := range blocks.FindAllStringSubmatch(text, -1) {
			var v map[string]any
			if err := json.Unmarshal([]byte(b[1]), &v); err != nil {
				t.Errorf("%s: %v in %s", title, err, b[1])
			}
			switch v["detail-type"].(type) {
			case []any:
				x.pattern = v
			case string:
				x.event, x.text = v, b[1]
			}
		}
		if x.pattern != nil {
			all = append(all, x)
		}
	}
	return all
}

// matches tells whether an event matches a pattern, by the rules of EventBridge that the page uses: a list names the
// allowed values, of which one may be {"prefix": TEXT}, and an object is matched member by member.
func matches(pattern, v any) bool {
	switch p := pattern.(type) {
	case map[string]any:
		object, ok := v.(map[string]any)
		for name, inner := range p {
			ok = ok && matches(inner, object[name])
		}
		return ok
	case []any:
		return slices.ContainsFunc(p, func(allowed any) bool {
			if o, ok := allowed.(map[string]any); ok {
				prefix, isText := o["prefix"].(string)
				text, given := v.(string)
				return isText && given && strings.HasPrefix(text, prefix)
			}
			return allowed == v
		})
	}
	return false
}

func TestTheRulesOfThePageMatchTheirEvents(t *testing.T) {
	all := examples(t)
	want := map[string]event.Kind{
		"A file was uploaded to S3":                    event.ObjectCreated,
		"A program received a request":                 event.ScaleUp,
		"A task or a service of ECS changed":           event.TaskState,
		"AWS takes a Spot instance back":               event.SpotInterruption,
		"An instance of a group was launched or ended": event.InstanceLaunch,
	}
	if len(all) != len(want) {
		t.Errorf("the page has %d rules, want %d", len(all), len(want))
	}
	for _, x := range all {
		for _, other := range all {
			if got := matches(x.pattern, other.event); got != (x.title == other.title) {
				t.Errorf("the rule of %q matches the event of %q: %v", x.title, other.title, got)
			}
		}
		got := event.Read([]byte(x.text))
		if len(got) != 1 || got[0].Kind != want[x.title] || got[0].ID == "" {
			t.Errorf("the event of %q is read as %+v, want the kind %s", x.title, got, want[x.title])
		}
	}
}

// TestEveryTypeOfARuleIsKnown holds that a rule of the page brings no event of AWS that is read as custom.
func TestEveryTypeOfARuleIsKnown(t *testing.T) {
	for _, x := range examples(t) {
		for _, detailType := range x.pattern["detail-type"].([]any) {
			x.event["detail-type"] = detailType
			text, err := json.Marshal(x.event)
			if err != nil {
				t.Fatal(err)
			}
			if e := event.Read(text)[0]; e.Kind == event.Custom || e.Kind == event.Unknown {
				t.Errorf("%s: an event of the type %q has the kind %s", x.title, detailType, e.Kind)
			}
		}
	}
}

func TestThePageListsEveryKind(t *testing.T) {
	page, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range event.Kinds() {
		if !strings.Contains(string(page), "`"+string(k)+"`") {
			t.Errorf("docs/events.md has no %s", k)
		}
	}
}

// The form that the input transformer of the page writes wakes one fleet.
func TestThePagesTransformerWritesMustersForm(t *testing.T) {
	page, err := os.ReadFile("../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"InputTemplate": (".*")`).FindSubmatch(page)
	var template string
	if found == nil || json.Unmarshal(found[1], &template) != nil {
		t.Fatalf("found no template in the page: %q", found)
	}
	got := event.Read([]byte(strings.ReplaceAll(template, "<id>", `"17793124"`)))
	if len(got) != 1 || got[0] != (event.Event{Kind: event.ObjectCreated, ID: "17793124",
		Subject: event.Subject{Fleet: "videos"}}) {
		t.Errorf("read %+v", got)
	}
}
