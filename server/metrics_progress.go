package server

import (
	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/internal/exposition"
)

// collectProgress exports how the work goes. What is unknown is no number: its muster_signal_known is 0, without a
// queue.
func collectProgress(o muster.Observation, gauge func(exposition.Family, float64, ...string)) {
	p := o.Progress.Value()
	for _, s := range []struct {
		signal, name, help string
		sample             muster.Sample
	}{
		{"working", "muster_messages_working", "Messages that workers hold.", p.Working},
		{"retrying", "muster_messages_retrying",
			"Messages that failed and wait for their retry: no worker holds them.", p.Retrying},
		{"oldest_retry_seconds", "muster_oldest_retry_seconds",
			"Time since the oldest message was sent that waits for its retry.", p.OldestRetry},
		{"late", "muster_messages_late",
			"Messages that wait, also for a retry, or are at a worker for longer than the objective allows.", p.Late},
		{"in_time", "muster_in_time_ratio",
			"Share of the messages of the last hour that were in time; dead letters and late ones are not.", p.InTime},
	} {
		if !s.sample.Known {
			gauge(known(), 0, "", s.signal)
			continue
		}
		gauge(known(), 1, "", s.signal)
		gauge(desc(s.name, s.help, "fleet"), s.sample.Value)
	}
	if o.Progress == nil {
		return
	}
	gauge(desc("muster_attempts_failed_lately", "Attempts that failed in the last five minutes.", "fleet"), p.Failed)
	if p.Failing.Known {
		gauge(desc("muster_failing_mean_seconds",
			"Mean duration of attempts that failed. muster_processing_mean_seconds is without them.", "fleet"),
			p.Failing.MeanSeconds)
	}
	if !p.LastErrorAt.IsZero() {
		gauge(desc("muster_last_error_timestamp_seconds",
			"When the last attempt failed of which a worker told why, in seconds since 1970.", "fleet"),
			float64(p.LastErrorAt.UnixMilli())/1000)
	}
}
