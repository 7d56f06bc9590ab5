package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-scale/muster/worker"
)

func newWork(g *global) *cobra.Command {
	var (
		o          worker.Options
		command    worker.Command
		api, level string
		urls       []string
	)
	cmd := &cobra.Command{
		Use:   "work --queue URL -- COMMAND [ARGUMENT...]",
		Short: "Handle the messages of a queue with any command",
		Long: `Work receives messages and runs the command once for each: the body on standard input, the rest in
MUSTER_... variables. Exit status 0 deletes the message; any other gives it back, to be tried again later.
There is no shell: write -- sh -c '...' if you want one.

It works against the embedded queue and against Amazon SQS, with a controller (--api) or without.`,
		Example: `  muster work --queue http://127.0.0.1:9324/000000000000/default -- ./resize.sh
  muster work --queue http://127.0.0.1:9324/000000000000/default --slots 4 --idle 30s -- wc -c`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var l slog.Level
			if err := l.UnmarshalText([]byte(level)); err != nil {
				return usage(fmt.Errorf("--log: found %q, allowed is debug, info, warn or error", level))
			}
			if err := worker.KeepMemberLock(); err != nil {
				return err
			}
			for _, url := range urls {
				g.useLocalKeys(url)
			}
			command.Argv, command.Logger = args, newLogger(cmd.ErrOrStderr(), l)
			if err := command.Check(); err != nil {
				return usage(err)
			}
			var queues []worker.Queue
			for _, url := range urls {
				queue, err := worker.NewSQS(cmd.Context(), url)
				if err != nil {
					return usage(err)
				}
				queues = append(queues, queue)
			}
			o.Queue, o.Do, o.Logger = worker.Several(queues...), command.Run, command.Logger
			if api != "" {
				reporter, err := worker.NewReporter(api, os.Getenv("MUSTER_TOKEN"))
				if err != nil {
					return usage(err)
				}
				o.Reporter = reporter
			}
			return worker.Run(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&urls, "queue", nil, "the queue's URL; may be repeated, to take from several in turn")
	f.IntVar(&o.Slots, "slots", 1, "how many messages to handle at once")
	f.DurationVar(&o.IdleStop, "idle", 0, "leave after so long without a message; 0 stays")
	f.DurationVar(&o.Visibility, "visibility", 30*time.Second, "how long a message is held before its hold is extended")
	f.DurationVar(&o.RetryBase, "retry", 30*time.Second, "how long a message waits after its first failure; doubled each time")
	f.DurationVar(&o.Grace, "grace", 0, "how long messages may take when told to stop; 0 lets them finish")
	f.DurationVar(&o.WarmUp, "warm-up", 0, "wait so long before the first message, to show slow boots")
	f.StringSliceVar(&command.Env, "env", nil, "names of variables to pass to the command")
	f.StringVar(&api, "api", os.Getenv("MUSTER_API_URL"), "the controller's URL; MUSTER_TOKEN holds its token")
	f.StringVar(&o.Fleet, "fleet", os.Getenv("MUSTER_FLEET"), "the fleet this worker belongs to")
	f.StringVar(&o.Member, "member", defaultMember(), "the member this worker runs on")
	f.StringVar(&level, "log", "info", "what to log: debug, info, warn or error")
	cmd.MarkFlagRequired("queue")
	return cmd
}

func defaultMember() string {
	if m := os.Getenv("MUSTER_MEMBER"); m != "" {
		return m
	}
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}

// newSleepBody is the work of the demo and of test load: it sleeps as long as the message says.
func newSleepBody() *cobra.Command {
	return &cobra.Command{
		Use: "sleep-body", Hidden: true,
		Short: "Sleep for the duration that standard input holds",
		Long: `Sleep-body is the command behind the demo and behind muster send --duration: it sleeps for the duration in
the message body. With MUSTER_DONE_LOG set it then adds a line to that file: queue, message id, when it was sent, now,
the process that started it, and when it began.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			began := time.Now()
			body, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 64))
			if err != nil {
				return err
			}
			d, err := time.ParseDuration(strings.TrimSpace(string(body)))
			if err != nil || d < 0 || d > 12*time.Hour {
				return usage(fmt.Errorf("the message body: found %.20q, allowed is a duration of at most 12h, such as 1.25s", body))
			}
			time.Sleep(d)
			return logDone(os.Getenv("MUSTER_DONE_LOG"), began)
		},
	}
}

// logDone appends one line, in one write, so that lines of many workers do not mix.
func logDone(path string, began time.Time) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %s %s %s %d %s\n", os.Getenv("MUSTER_QUEUE"), os.Getenv("MUSTER_MESSAGE_ID"), os.Getenv("MUSTER_SENT_AT"),
		time.Now().UTC().Format(time.RFC3339Nano), os.Getppid(), began.UTC().Format(time.RFC3339Nano))
	return err
}
