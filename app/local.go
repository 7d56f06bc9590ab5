package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/guard"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/kind"
)

// local starts workers as processes on this machine. It implements [kind.Local].
type local struct{ *App }

var _ kind.Local = local{}

// Start implements [kind.Local].
func (l local) Start(c config.Fleet, p config.Part) (kind.Start, error) {
	dir := filepath.Join(l.config.Data, membersDir, c.Name, p.Name)
	s := kind.Start{Dir: dir, WorkDir: l.config.Dir}
	if len(c.Queues) == 0 && len(p.Workers.Command) > 0 { // in shadow mode there is no command, and no start
		// Without a queue there is nothing to receive. The command itself is the worker, and reports through the API.
		_, set := p.Workers.Variables()
		s.Argv, s.Env = p.Workers.Command, l.workerEnv(c, set)
		return s, nil
	}
	self := l.options.Program
	// The running program is muster itself, unless it embeds this package.
	if self == "" {
		found, err := os.Executable()
		if err != nil {
			return s, fmt.Errorf("fleet %s: find this program to start workers with: %w", c.Name, err)
		}
		self = found
	}
	// Workers start in another directory, the one of the configuration.
	data, err := filepath.Abs(l.config.Data)
	if err != nil {
		return s, fmt.Errorf("fleet %s: find the data directory for its workers: %w", c.Name, err)
	}
	told := Started{Data: data, Workers: p.Workers}
	for _, q := range c.Queues {
		told.Queues = append(told.Queues, l.urlOf(q))
	}
	if p.Workers.MaxAttempts > 0 {
		told.DeadLetter = l.urlOf(p.Workers.DeadLetter)
	}
	text, err := told.Text()
	if err != nil {
		return s, fmt.Errorf("fleet %s: write the settings of its workers: %w", c.Name, err)
	}
	s.Argv, s.Env = []string{self, "work"}, l.workerEnv(c, []string{WorkVariable + "=" + text})
	return s, nil
}

// Log implements [kind.Local].
func (l local) Log(c config.Fleet) (printed func(member string, lines []string), closeLog func() error) {
	log := joblog.Open(LogsDir(l.config.Data), c.Name, "", func(err error) {
		if err != nil {
			l.options.Logger.Warn("the output of workers cannot be logged", "fleet", c.Name, "error", err)
		}
	})
	return fleetLog{log, len(c.Queues) == 0}.printed, log.Close
}

// urlOf is the URL of a queue, as workers use it.
func (a *App) urlOf(q config.QueueRef) string { return cmp.Or(q.URL, a.QueueURL(q.Name)) }

// workerEnv returns the environment of a worker by its member: the variables of this process, the API, the log
// directory, the trees, those in told, and the keys of the embedded queue if the fleet serves one.
func (a *App) workerEnv(c config.Fleet, told []string) func(member string) []string {
	return func(member string) []string {
		env := append(os.Environ(), a.options.Env...)
		env = append(env, "MUSTER_API_URL="+a.APIURL(), "MUSTER_TOKEN="+a.token.Member(c.Name, member).Reveal(),
			"MUSTER_FLEET="+c.Name, "MUSTER_MEMBER="+member)
		env = append(env, told...)
		if logs, err := filepath.Abs(LogsDir(a.config.Data)); err == nil {
			env = append(env, LogsVariable+"="+logs)
		}
		if trees, err := filepath.Abs(filepath.Join(a.config.Data, TreesFile)); err == nil &&
			os.Getenv(TreesVariable) == "" {
			env = append(env, TreesVariable+"="+trees)
		}
		for _, q := range c.Queues {
			if q.Own() {
				// Not AWS_ACCESS_KEY_ID: a worker may also use AWS, with its own keys.
				return append(env, "AWS_ENDPOINT_URL_SQS="+a.Endpoint(), QueueKeyVariable+"="+a.keys.AccessKeyID,
					QueueSecretVariable+"="+a.keys.SecretAccessKey)
			}
		}
		return env
	}
}

// LogsDir is the folder of a data directory that holds the logs of all fleets.
func LogsDir(data string) string { return filepath.Join(data, logsDir) }

// workerLogs returns what is known of the log of a fleet's workers. Only fleets on this machine have one here.
func (a *App) workerLogs(fleet string) guard.Logs {
	for _, f := range a.fleets.view() {
		if f.Name == fleet && f.Local {
			at, err := joblog.LastWrite(LogsDir(a.config.Data), fleet)
			if err != nil {
				return guard.Logs{Kept: true, Failure: err.Error()}
			}
			return guard.Logs{Kept: true, LastAt: at}
		}
	}
	return guard.Logs{}
}

// fleetLog logs what the processes of a fleet print.
type fleetLog struct {
	log *joblog.Log
	// alone is true where the process is the user's program, not muster work.
	alone bool
}

func (f fleetLog) printed(member string, lines []string) {
	r := joblog.Record{Kind: joblog.Worker, Member: member}
	if f.alone {
		r.Kind, r.Stream = joblog.Output, "output"
	}
	for _, line := range lines {
		if r.Text = line; strings.TrimSpace(line) != "" {
			f.log.Write(r)
		}
	}
}

// LastFailures returns a function that finds the last failure of each message in the logs.
func LastFailures(data string) func(ctx context.Context, messages []string) (map[string]joblog.Failure, error) {
	return func(ctx context.Context, messages []string) (map[string]joblog.Failure, error) {
		return joblog.LastFailures(ctx, LogsDir(data), messages)
	}
}
