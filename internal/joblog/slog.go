package joblog

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// Handler returns a slog.Handler that writes records of at least level to the log. An attribute
// "message" becomes the record's Message; the others follow its text.
func (l *Log) Handler(level slog.Level) slog.Handler { return &recorder{log: l, level: level} }

// recorder is that handler. It uses the text handler of the standard library, so that attributes read
// as on a terminal.
type recorder struct {
	log     *Log
	level   slog.Level
	with    []func(slog.Handler) slog.Handler
	message string
}

// Enabled implements [slog.Handler].
func (h *recorder) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// WithAttrs implements [slog.Handler].
func (h *recorder) WithAttrs(attributes []slog.Attr) slog.Handler {
	c := *h
	var rest []slog.Attr
	for _, a := range attributes {
		if a.Key == "message" {
			c.message = a.Value.String()
			continue
		}
		rest = append(rest, a)
	}
	c.with = append(c.with[:len(c.with):len(c.with)], func(to slog.Handler) slog.Handler { return to.WithAttrs(rest) })
	return &c
}

// WithGroup implements [slog.Handler].
func (h *recorder) WithGroup(name string) slog.Handler {
	c := *h
	c.with = append(c.with[:len(c.with):len(c.with)], func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
	return &c
}

// Handle implements [slog.Handler].
func (h *recorder) Handle(ctx context.Context, r slog.Record) error {
	var attributes strings.Builder
	own := []string{slog.TimeKey, slog.LevelKey, slog.MessageKey}
	replace := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && slices.Contains(own, a.Key) {
			return slog.Attr{}
		}
		return a
	}
	var to slog.Handler = slog.NewTextHandler(&attributes, &slog.HandlerOptions{Level: h.level, ReplaceAttr: replace})
	for _, with := range h.with {
		to = with(to)
	}
	if err := to.Handle(ctx, r); err != nil {
		return err
	}
	text := strings.TrimSpace(r.Message + " " + attributes.String())
	h.log.Write(Record{At: r.Time, Kind: Worker, Message: h.message, Level: r.Level.String(), Text: text})
	return nil
}
