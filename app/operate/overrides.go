package operate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/muster-scale/muster/app/client"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/internal/render"
	"github.com/muster-scale/muster/override"
	"github.com/muster-scale/muster/server"
)

// Request is an override as a command asks for it.
type Request struct {
	Fleet   string
	Kind    override.Kind
	Workers int
	// Min and Max are limits; a negative one is not asked for.
	Min, Max int
	// At is the begin as [ParseAt] reads it; empty is now. For is the length.
	At     string
	For    time.Duration
	Reason string
	// Plan only computes what would change.
	Plan bool
}

// patience bounds a request to the running muster up.
const patience = 15 * time.Second

// Add asks for an override.
func Add(ctx context.Context, c *config.Config, x Request, now time.Time) (a server.OverrideAnswer, err error) {
	body := server.OverrideRequest{Kind: x.Kind, Workers: x.Workers, Reason: x.Reason, By: caller(),
		ForSeconds: x.For.Seconds()}
	if x.For <= 0 || x.For > override.Longest {
		return a, misuse.Setting("for", "found %s, allowed is above 0s and at most %s", x.For, override.Longest)
	}
	if body.Begin, err = ParseAt(x.At, now); err != nil {
		return a, err
	}
	for _, l := range []struct {
		asked int
		into  **int
	}{{x.Min, &body.Min}, {x.Max, &body.Max}} {
		if x.Kind == override.Limits && l.asked >= 0 {
			*l.into = &l.asked
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	return a, send(ctx, c, http.MethodPost, path(x.Fleet, "overrides")+planned(x.Plan), text, &a)
}

// Release asks a worker to finish its messages and go. With plan, nothing is changed, and the answer has a forecast.
func Release(ctx context.Context, c *config.Config, fleet, worker, reason string, plan bool) (a server.ReleaseAnswer,
	err error) {
	text, err := json.Marshal(server.ReleaseRequest{Reason: reason, By: caller()})
	if err != nil {
		return a, err
	}
	return a, send(ctx, c, http.MethodPost, path(fleet, "members", worker, "release")+planned(plan), text, &a)
}

// PrintRelease prints what became of such a request, or what it would change.
func PrintRelease(w io.Writer, worker string, a server.ReleaseAnswer) {
	switch p := a.Plan; {
	case p == nil:
		fmt.Fprintf(w, "%s finishes its messages and goes\n", worker)
	case p.Launch > 0:
		fmt.Fprintf(w, "%s; another worker would be launched in its place\n", stops(worker, p))
	default:
		fmt.Fprintf(w, "%s; no other would be launched: from %s to %d\n", stops(worker, p),
			render.Plural(p.From, "worker"), p.To)
	}
}

func stops(worker string, p *audit.Forecast) string {
	if p.StopBusy > 0 {
		return "would stop " + worker + " once its messages are done"
	}
	return "would stop " + worker + ", which is idle"
}

// Cancel ends the override with the id.
func Cancel(ctx context.Context, c *config.Config, fleet, id string, plan bool) (a server.OverrideAnswer, err error) {
	return a, send(ctx, c, http.MethodDelete, path(fleet, "overrides", id)+planned(plan), nil, &a)
}

// Resume ends the pauses and the holds of scale-in of a fleet, also those that have not begun.
func Resume(ctx context.Context, c *config.Config, fleet string, plan bool) ([]server.OverrideAnswer, error) {
	all, err := List(ctx, c, fleet)
	if err != nil {
		return nil, err
	}
	ended := []server.OverrideAnswer{}
	for _, o := range all.Overrides {
		if o.Kind != override.Pause && o.Kind != override.HoldScaleIn {
			continue
		}
		a, err := Cancel(ctx, c, fleet, o.ID, plan)
		if err != nil {
			return ended, err
		}
		ended = append(ended, a)
	}
	return ended, nil
}

// List returns the overrides of a fleet, also those that have not begun.
func List(ctx context.Context, c *config.Config, fleet string) (all server.Overrides, err error) {
	return all, send(ctx, c, http.MethodGet, path(fleet, "overrides"), nil, &all)
}

// path is that of a resource of a fleet. Names are escaped, because a user types them.
func path(fleet string, more ...string) string {
	text := "/v1/fleets/" + url.PathEscape(fleet)
	for _, m := range more {
		text += "/" + url.PathEscape(m)
	}
	return text
}

// planned is the query of a request that changes nothing: the step is computed and thrown away.
func planned(plan bool) string {
	if plan {
		return "?plan=1"
	}
	return ""
}

// send sends a request and decodes the answer. A status that says what is wrong with the request gives an error about
// it.
func send(ctx context.Context, c *config.Config, method, path string, body []byte, into any) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	resp, err := client.Ask(ctx, c, method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusAccepted: // without a body
		return nil
	case http.StatusOK:
		return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
	case http.StatusBadRequest, http.StatusNotFound:
		return misuse.Wrap(client.Refused(resp))
	}
	return client.Refused(resp)
}

// caller names the user and the machine for the list of overrides; it is a hint, not an authentication.
func caller() string {
	host, _ := os.Hostname() // the name is for people, and may be unknown
	name := strings.Trim(os.Getenv("USER")+"@"+host, "@")
	return strings.ToValidUTF8(name[:min(len(name), override.MaxByBytes)], "")
}

// ParseAt reads a time of day such as 14:00 or 14:00:30, which is the next one after now in now's zone, or a time such
// as 2026-11-24T14:00:00Z. An empty text is the zero time.
func ParseAt(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"15:04", time.TimeOnly} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		next := time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		if !next.After(now) {
			next = time.Date(now.Year(), now.Month(), now.Day()+1, t.Hour(), t.Minute(), t.Second(), 0, now.Location())
		}
		return next, nil
	}
	return time.Time{}, misuse.Setting("at", "found %q, write a time of day such as 14:00, or a time such as %s", text,
		now.UTC().Truncate(time.Minute).Add(time.Hour).Format(time.RFC3339))
}

// PrintAnswer prints what became of a request of a fleet, or what it would change. cancelled is true for a request that
// ends an override.
func PrintAnswer(w io.Writer, fleet string, a server.OverrideAnswer, cancelled bool, now time.Time) {
	switch p := a.Plan; {
	case p != nil:
		fmt.Fprintf(w, "%s: from %s to %d; %s\n%s\n", fleet, render.Plural(p.From, "worker"), p.To, change(a),
			p.Sentence)
	case cancelled:
		fmt.Fprintf(w, "%s: cancelled %s\n", a.Override.ID, a.Override.Text)
	default:
		fmt.Fprintf(w, "%s: %s\n", a.Override.ID, a.Override.Text)
	}
	g := a.Override.Grant
	if g == nil || cancelled {
		return
	}
	fmt.Fprintf(w, "  granted: %s\n", GrantText(a.Override.Override, now))
	for _, why := range g.Why {
		fmt.Fprintf(w, "  because %s\n", why)
	}
}

// GrantText says what a reservation got, in one line.
func GrantText(o override.Override, now time.Time) string {
	g := cmp.Or(o.Grant, &override.Grant{})
	text := fmt.Sprintf("%d of %s, %d in service at %s", g.Workers, render.Plural(o.Workers, "worker"), g.AtBegin,
		override.Clock(now, o.Begin))
	if g.AtBegin < g.Workers {
		text += ", all at " + override.Clock(now, g.InServiceAt)
	}
	return text + "; launching begins at " + override.Clock(now, g.LaunchAt.Truncate(time.Second))
}

// change says what a plan would do to the workers. Which members stop is unknown where the fleet's own service chooses.
func change(a server.OverrideAnswer) string {
	p := a.Plan
	switch {
	case p.Launch > 0:
		return "would launch " + render.Plural(p.Launch, "worker")
	case p.Stop == 0:
		return "would launch and stop no worker"
	case p.StopIdle+p.StopBusy == 0:
		return "would stop " + render.Plural(p.Stop, "worker")
	}
	return fmt.Sprintf("would stop %s, %d busy", render.Plural(p.StopIdle, "idle worker"), p.StopBusy)
}

// PrintList prints the overrides of a fleet, in the order in which they were accepted. Times are in UTC, as in the
// decisions that name the overrides.
func PrintList(w io.Writer, all server.Overrides) {
	if len(all.Overrides) == 0 {
		fmt.Fprintf(w, "%s has no overrides\n", all.Fleet)
	}
	for _, o := range all.Overrides {
		state := "active"
		if !o.Active {
			state = "planned"
		}
		fmt.Fprintf(w, "%s  %s  %s", o.ID, state, o.Text)
		if o.By != "" {
			fmt.Fprintf(w, ", by %s", o.By)
		}
		fmt.Fprintln(w)
		if o.Grant != nil {
			fmt.Fprintf(w, "  granted: %s\n", GrantText(o.Override, all.At))
		}
	}
}
