package worker

import (
	"os"
	"strconv"
)

// DefaultMember names the member this worker runs on: as MUSTER_MEMBER says, or else by the host and the process.
func DefaultMember() string {
	if m := os.Getenv("MUSTER_MEMBER"); m != "" {
		return m
	}
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}
