package sqsapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/muster-scale/muster/sqsapi/internal/protocol"
)

// guard refuses requests that no SDK sends: those of a browser on behalf of a web page, and those for a
// host name that is not served here, which DNS rebinding produces. Without it any page that a developer
// opens could read the local queues.
func (a *api) guard(r *http.Request) error {
	if host := normalHost(r.Host); !isLoopback(host) && !a.hosts[host] {
		return protocol.Refusal("MisdirectedRequest", http.StatusMisdirectedRequest,
			"This queue does not serve the host %s. "+
				"Use a loopback address, or add the host to those that are allowed.", protocol.Quote(host))
	}
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return protocol.Forbidden("AccessDenied", "Requests from a browser are refused.")
	}
	// A page can make a browser send a GET without an Origin header.
	if r.Method == http.MethodGet && (strings.HasPrefix(r.Header.Get("User-Agent"),
		"Mozilla/") || r.Header.Get("Referer") != "") {
		return protocol.Forbidden("AccessDenied", "Requests from a browser are refused.")
	}
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		return protocol.InvalidHTTP(http.StatusMethodNotAllowed,
			"The method %s is not allowed: send a POST, or a GET of the Query protocol.", protocol.Quote(r.Method))
	}
	return nil
}

// normalHost removes port, brackets and a final dot, and lowers the case.
func normalHost(host string) string {
	if strings.Contains(host, ":") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// isLoopback says whether a host can only mean this machine. Browsers resolve *.localhost to loopback.
func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
