package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/fleet/process"
	"github.com/muster-scale/muster/fleet/split"
	"github.com/muster-scale/muster/internal/joblog"
)

// parts are the process fleets that a fleet is made of: one, or one for each part of its split.
type parts []part

type part struct {
	split.Part
	processes *process.Fleet
	// log gets what the processes print themselves.
	log *joblog.Log
}

// Kinds returns the kinds of workers of a fleet: its parts, or the one it has without.
func Kinds(c config.Fleet) []config.Part {
	if len(c.Split) > 0 {
		return c.Split
	}
	return []config.Part{{Weight: 1, Workers: c.Workers}}
}

// partsOf opens the process fleets of a fleet, and adopts the workers that still run.
func (a *App) partsOf(c config.Fleet) (parts, error) {
	var all parts
	for _, kind := range Kinds(c) {
		argv, err := a.WorkerArgv(c, kind.Workers)
		if err != nil {
			return nil, err
		}
		log := joblog.Open(LogsDir(a.config.Data), c.Name, "", func(err error) {
			if err != nil {
				a.options.Logger.Warn("what workers print cannot be kept", "fleet", c.Name, "error", err)
			}
		})
		p, err := process.New(process.Options{
			Fleet: c.Name, Dir: filepath.Join(a.config.Data, membersDir, c.Name, kind.Name), Argv: argv, WorkDir: a.config.Dir,
			Env: a.workerEnv(c, kind.Workers), Printed: fleetLog{log, len(c.Queues) == 0}.printed, Logger: a.options.Logger,
		})
		if err != nil {
			return nil, errors.Join(err, log.Close())
		}
		all = append(all, part{split.Part{Name: kind.Name, Base: kind.Base, Weight: kind.Weight, Max: kind.Max, Fleet: p, Releaser: p}, p, log})
	}
	return all, nil
}

// whole returns the parts as one fleet.
func (p parts) whole() (muster.Fleet, muster.Releaser) {
	if len(p) == 1 {
		return p[0].processes, p[0].processes
	}
	var all []split.Part
	for _, one := range p {
		all = append(all, one.Part)
	}
	f, err := split.New(all)
	if err != nil {
		return broken{err}, nil // the configuration was checked, so nobody sees this
	}
	return f, f
}

// broken is a fleet that cannot be listed, and so is never sized.
type broken struct{ err error }

// Members implements [muster.Fleet].
func (b broken) Members(context.Context) (muster.Listing, error) { return muster.Listing{}, b.err }

// SetDesired implements [muster.Fleet].
func (b broken) SetDesired(context.Context, muster.Order) error { return b.err }

// change makes workers that are started from now on what c says. The parts are those of c.
func (p parts) change(a *App, c config.Fleet) error {
	for i, kind := range Kinds(c) {
		argv, err := a.WorkerArgv(c, kind.Workers)
		if err != nil {
			return err
		}
		p[i].processes.Change(argv, a.workerEnv(c, kind.Workers))
	}
	return nil
}

// close ends all workers once they have finished what they hold.
func (p parts) close() {
	var all sync.WaitGroup
	for _, one := range p {
		all.Go(func() {
			one.processes.Close(context.Background())
			_ = one.log.Close() // that it cannot be written was said
		})
	}
	all.Wait()
}

// WorkerArgv is how a worker of the fleet is started: this program, as muster work. Without a queue there is nothing to
// receive: the command itself is the worker, and reports by the API.
func (a *App) WorkerArgv(c config.Fleet, w config.Workers) ([]string, error) {
	if len(c.Queues) == 0 && len(w.Command) > 0 { // without a command it is in shadow, and starts none
		return w.Command, nil
	}
	self := a.options.Program
	if self == "" {
		found, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("fleet %s: find this program to start workers with: %w", c.Name, err)
		}
		self = found
	}
	argv := []string{self, "work", "--log", cmp.Or(w.Log, "warn"), "--slots", strconv.Itoa(w.Slots), "--idle", w.Idle.String(),
		"--visibility", w.Visibility.String(), "--grace", w.Grace.String(), "--warm-up", w.WarmUp.String(),
		"--protection", "none"} // workers that share a machine cannot share its protection: the first to be idle would lift it
	for _, q := range c.Queues {
		argv = append(argv, "--queue", a.urlOf(q))
	}
	if w.TimeLimit > 0 {
		argv = append(argv, "--time-limit", w.TimeLimit.String())
	}
	if w.MaxAttempts > 0 {
		data, err := filepath.Abs(a.config.Data)
		if err != nil {
			return nil, fmt.Errorf("fleet %s: find the directory in which attempts are counted: %w", c.Name, err)
		}
		argv = append(argv, "--max-attempts", strconv.Itoa(w.MaxAttempts), "--dead-letter", a.urlOf(w.DeadLetter), "--data", data)
	}
	if w.ClassAttribute != "" {
		argv = append(argv, "--class-attribute", w.ClassAttribute)
	}
	if w.Batch > 1 {
		argv = append(argv, "--batch", strconv.Itoa(w.Batch))
	}
	if names, _ := w.Variables(); len(names) > 0 {
		argv = append(argv, "--env", strings.Join(names, ","))
	}
	if w.Retry > 0 {
		argv = append(argv, "--retry", w.Retry.String())
	}
	if w.StartLimit > 0 {
		argv = append(argv, "--start-limit", w.StartLimit.String())
	}
	if w.LifecycleHook != "" && w.MaxAttempts == 0 {
		data, err := filepath.Abs(a.config.Data)
		if err != nil {
			return nil, fmt.Errorf("fleet %s: find the directory in which the workers of this machine meet: %w", c.Name, err)
		}
		argv = append(argv, "--data", data)
	}
	return append(append(argv, surroundingsArgv(w)...), meansArgv(w)...), nil
}

// surroundingsArgv says what the worker is to its machine, and whom else it tells what it does.
func surroundingsArgv(w config.Workers) (argv []string) {
	for _, to := range w.Report {
		argv = append(argv, "--report", to)
	}
	if w.ReportEvery > 0 {
		argv = append(argv, "--report-every", w.ReportEvery.String())
	}
	if w.BillingPeriod > 0 {
		argv = append(argv, "--billing-period", w.BillingPeriod.String())
		if w.BillingMargin > 0 {
			argv = append(argv, "--billing-margin", w.BillingMargin.String())
		}
		if !w.BillingStart.IsZero() {
			argv = append(argv, "--billing-start", w.BillingStart.Format(time.RFC3339))
		}
	}
	if w.LifecycleHook != "" {
		argv = append(argv, "--lifecycle-hook", w.LifecycleHook)
	}
	if w.Group != "" {
		argv = append(argv, "--auto-scaling-group", w.Group)
	}
	return argv
}

// meansArgv says what does the work.
func meansArgv(w config.Workers) (argv []string) {
	if w.HTTP != "" {
		return []string{"--http", w.HTTP}
	}
	if w.JSONLines {
		argv = append(argv, "--json-lines")
	}
	return append(append(argv, "--"), w.Command...)
}

// urlOf is where workers find a queue.
func (a *App) urlOf(q config.QueueRef) string { return cmp.Or(q.URL, a.QueueURL(q.Name)) }

// workerEnv returns the environment of a worker, by its member: that of this process, where to report, where its log is, the values
// that its command gets, and the keys of the embedded queue when it serves one.
func (a *App) workerEnv(c config.Fleet, w config.Workers) func(member string) []string {
	return func(member string) []string {
		env := append(os.Environ(), a.options.Env...)
		env = append(env, "MUSTER_API_URL="+a.APIURL(), "MUSTER_TOKEN="+a.token.Member(c.Name, member).Reveal(),
			"MUSTER_FLEET="+c.Name, "MUSTER_MEMBER="+member)
		env = append(env, CommandEnv(c, w)...)
		if logs, err := filepath.Abs(LogsDir(a.config.Data)); err == nil {
			env = append(env, LogsVariable+"="+logs)
		}
		if trees, err := filepath.Abs(filepath.Join(a.config.Data, TreesFile)); err == nil && os.Getenv(TreesVariable) == "" {
			env = append(env, TreesVariable+"="+trees)
		}
		for _, q := range c.Queues {
			if q.URL == "" {
				// Not as those of AWS: a worker may report there, with keys of its own.
				return append(env, "AWS_ENDPOINT_URL_SQS=http://"+a.sqs.Addr().String(), QueueKeyVariable+"="+a.keys.AccessKeyID, QueueSecretVariable+"="+a.keys.SecretAccessKey)
			}
		}
		return env
	}
}

// CommandEnv is how the values of a command's variables get to it: from the worker that runs it, or at once where the command is
// the worker.
func CommandEnv(c config.Fleet, w config.Workers) []string {
	_, set := w.Variables()
	if len(set) == 0 || len(c.Queues) == 0 {
		return set
	}
	text, err := json.Marshal(set)
	if err != nil {
		return nil // texts can always be encoded
	}
	return []string{EnvVariable + "=" + string(text)}
}
