package app

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/muster-scale/muster/internal/joblog"
)

// LogsDir is the directory of the logs of all fleets, in a data directory.
func LogsDir(data string) string { return filepath.Join(data, logsDir) }

// fleetLog writes what the processes of a fleet themselves print into its log.
type fleetLog struct {
	log *joblog.Log
	// alone is true where the processes are the user's program, which takes its work from elsewhere.
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

// LastFailures looks up the last failures of messages in the data directory.
func LastFailures(data string) func(ctx context.Context, messages []string) (map[string]joblog.Failure, error) {
	return func(ctx context.Context, messages []string) (map[string]joblog.Failure, error) {
		return joblog.LastFailures(ctx, LogsDir(data), messages)
	}
}
