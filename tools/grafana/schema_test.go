package grafana_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	schema "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/muster-scale/muster/deploy/dashboard"
)

// check reads a dashboard as Grafana's types have it. They know panels and queries by what is registered.
func check(text []byte) error {
	known := cog.NewRuntime()
	known.RegisterDataqueryVariant(prometheus.VariantConfig())
	known.RegisterPanelcfgVariant(timeseries.VariantConfig())
	var d schema.Dashboard
	var faults cog.BuildErrors // without faults it is an empty list, and not nil
	if err := d.UnmarshalJSONStrict(text); !errors.As(err, &faults) || len(faults) > 0 {
		return err
	}
	return d.Validate()
}

// TestTheDashboardFollowsGrafanasSchema holds that Grafana knows every member and takes every value.
func TestTheDashboardFollowsGrafanasSchema(t *testing.T) {
	text, err := json.Marshal(dashboard.Grafana([]string{"images", "slides"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := check(text); err != nil {
		t.Errorf("Grafana's schema refuses it: %v", err)
	}
}

// TestTheSchemaRefusesWhatItDoesNotKnow holds that the test above can fail.
func TestTheSchemaRefusesWhatItDoesNotKnow(t *testing.T) {
	text, err := json.Marshal(dashboard.Grafana(nil))
	if err != nil {
		t.Fatal(err)
	}
	for what, broken := range map[string]string{
		"a member":       strings.Replace(string(text), `"refresh"`, `"refreshes"`, 1),
		"a type":         strings.Replace(string(text), `"schemaVersion":37`, `"schemaVersion":"37"`, 1),
		"a panel's part": strings.Replace(string(text), `"gridPos"`, `"place"`, 1),
	} {
		if broken == string(text) || check([]byte(broken)) == nil {
			t.Errorf("%s that does not exist is taken", what)
		}
	}
}
