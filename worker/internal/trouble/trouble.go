// Package trouble formats errors: excerpts of output, and log lines about lasting faults.
package trouble

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"
)

// MaxShown bounds the output shown in an error's text, in bytes.
const MaxShown = 300

// Excerpt shows the beginning of b on one line.
func Excerpt(b []byte) string { return strconv.QuoteToGraphic(string(b[:min(len(b), MaxShown)])) }

// Loopback tells whether host is surely this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Trouble logs a fault when it begins, when its error changes (at most once a minute) and when it is over.
type Trouble struct {
	What string
	last string
	at   time.Time
}

// See records the result of an attempt: err, or success.
func (n *Trouble) See(log *slog.Logger, now time.Time, err error) {
	switch {
	case err == nil && n.last != "":
		log.Info(n.What+" works again", "after", now.Sub(n.at).Round(time.Second))
		n.last = ""
	case err == nil:
	case n.last == "", n.last != err.Error() && now.Sub(n.at) >= time.Minute:
		log.Warn(n.What+" fails", "err", err)
		n.last, n.at = err.Error(), now
	default:
		log.Debug(n.What+" still fails", "err", fmt.Sprint(err))
	}
}
