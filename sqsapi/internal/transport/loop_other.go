//go:build !linux

package transport

import (
	"net"

	"github.com/muster-scale/muster/internal/accept"
)

// loop exists only on Linux, where there is epoll. Elsewhere fasthttp serves all connections.
type loop struct{ ended chan struct{} }

func (*loop) adopt(net.Conn, *accept.Ticket) bool { return false }

func (*loop) stop(bool) {}

func startLoops(*Server) []*loop { return nil }
